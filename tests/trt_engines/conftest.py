"""Bundles that the engine tests run on, made once per session."""

from pathlib import Path

import pytest

from build_engines.tiny import make_tiny_bundle
from tests.trt_engines.small_bundle import write_small_bundle


@pytest.fixture(scope="session")
def small_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small bundle with a vocoder of kind `state`."""
    bundle_dir = tmp_path_factory.mktemp("small") / "bundle"
    write_small_bundle(bundle_dir, "state")
    return bundle_dir


@pytest.fixture(scope="session")
def window_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small bundle with a vocoder of kind `window`."""
    bundle_dir = tmp_path_factory.mktemp("window") / "bundle"
    write_small_bundle(bundle_dir, "window")
    return bundle_dir


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny voice that the server's tests speak with, as `build_engines` makes it."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    make_tiny_bundle(bundle_dir)
    return bundle_dir
