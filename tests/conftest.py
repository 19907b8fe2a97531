"""What many tests stand on: the tiny bundle, made once per session."""

import inspect
from pathlib import Path

import pytest

from build_engines.tiny import make_tiny_bundle

ONE_LOOP_FOLDERS = {"clients", "e2e"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests that talk gRPC on the loop of the session, because gRPC wants one loop in a process."""
    for item in items:
        is_coroutine = inspect.iscoroutinefunction(getattr(item, "function", None))
        if is_coroutine and item.path.parent.name in ONE_LOOP_FOLDERS:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the tiny bundle: untrained, seeded, with the contract of the real voice."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    make_tiny_bundle(bundle_dir)
    return bundle_dir
