"""What many tests stand on: the tiny bundle, made once per session."""

from pathlib import Path

import pytest

from build_engines.tiny import make_tiny_bundle


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the tiny bundle: untrained, seeded, with the contract of the real voice."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    make_tiny_bundle(bundle_dir)
    return bundle_dir
