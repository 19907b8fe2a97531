"""The G2P and a front end, loaded once for all tests: each takes half a second."""

from pathlib import Path

import pytest

from build_engines.tiny import make_tiny_bundle
from server.phonemes.phoneme_frontend import PhonemeFrontend
from server.phonemes.pronouncer import Pronouncer
from server.voice import Voice
from server.voices import VoiceCatalogue
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest


@pytest.fixture(scope="session")
def pronouncer() -> Pronouncer:
    """Return the American G2P."""
    return Pronouncer(british=False)


@pytest.fixture(scope="session")
def bundle_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a tiny bundle."""
    directory = tmp_path_factory.mktemp("tiny")
    make_tiny_bundle(directory)
    return directory


@pytest.fixture(scope="session")
def manifest(bundle_dir: Path) -> Manifest:
    """Return the manifest of the tiny bundle."""
    return load_manifest(bundle_dir)


@pytest.fixture(scope="session")
def frontend(bundle_dir: Path, manifest: Manifest) -> PhonemeFrontend:
    """Return the front end of the tiny bundle, which knows all phonemes."""
    return PhonemeFrontend(bundle_dir, manifest)


@pytest.fixture(scope="session")
def voice(bundle_dir: Path, manifest: Manifest) -> Voice:
    """Return a voice of the tiny bundle."""
    return VoiceCatalogue(bundle_dir, manifest).default
