"""Pages that walk through the code name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "AGENTS.md", ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|proto|yaml|yml|toml|json|conf|binpb))`")
NOT_IN_THE_REPOSITORY = {"NAME.json", "manifest.json", "server.toml"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_text_exist(page: Path) -> None:
    """A file in backticks is a path from the root, or the name of a file of the server."""
    named = set(_FILE.findall(page.read_text(encoding="utf-8"))) - NOT_IN_THE_REPOSITORY
    missing = {name for name in named if not (ROOT / name).exists() and not (ROOT / "server" / name).exists()}

    assert missing == set()
