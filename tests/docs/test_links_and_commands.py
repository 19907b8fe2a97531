"""What the pages outside the documentation site point to exists, and so does every command that any page names."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.config import load_settings

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def page_name(page: Path) -> str:
    """The path as a reader would write it."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> Iterator[str]:
    """The code blocks of one language on a page."""
    return (code for found, code in _BLOCK.findall(page.read_text(encoding="utf-8")) if found == language)


def commands(page: Path) -> Iterator[list[str]]:
    """Every command in the shell blocks of a page, as words without leading assignments."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words = words[1:]
            if words:
                yield words


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page names an existing file."""
    targets = _LINK.findall(page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_make_targets_exist(page: Path) -> None:
    """Every `make NAME` on a page is a target of the Makefile."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {words[1] for words in commands(page) if words[0] == "make"}

    assert named - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_settings_examples_are_accepted(page: Path, tmp_path: Path) -> None:
    """Every TOML block on a page is a valid settings file, and every `ANTIPHON_` variable a valid setting."""
    path = tmp_path / "server.toml"
    for block in blocks(page, "toml"):
        path.write_text(block, encoding="utf-8")
        load_settings(path)
    shell = "\n".join(blocks(page, "sh"))
    load_settings(environment=dict(re.findall(r"\b(ANTIPHON_[A-Z]+__[A-Z_]+)=(\S+)", shell)))
