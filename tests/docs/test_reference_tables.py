"""The reference pages say what the code says."""

from pathlib import Path

import pytest

from docs.reference_tables import REFERENCE, filled_in

PAGES = [page for page in sorted(REFERENCE.glob("*.md")) if "<!-- table:" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_code(page: Path) -> None:
    """`python docs/reference_tables.py` would change nothing."""
    text = page.read_text(encoding="utf-8")

    assert filled_in(text) == text
