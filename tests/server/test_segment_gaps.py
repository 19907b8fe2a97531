"""How well speech bears a cut at a gap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.segment_gaps import Strength, gap_strength


@pytest.mark.parametrize(
    ("before", "gap", "after", "strength"),
    [
        ("It is late.", " ", "We", Strength.SENTENCE),
        ("It is late", "\n\n", "we", Strength.SENTENCE),
        ("It is late,", " ", "we", Strength.CLAUSE),
        ("It is late -", " ", "we", Strength.CLAUSE),
        ("It is late", " ", "because", Strength.PHRASE),
        ("It is late", " ", "(very", Strength.PHRASE),
        ("It is late", " ", "here", Strength.WORD),
        ("It is 5", " ", "p.m.", Strength.TIGHT),
        ("May 5,", " ", "2024", Strength.TIGHT),
        ("It is late", " ", "—", Strength.TIGHT),
        ("1.", " ", "First", Strength.TIGHT),
        ("A\u00a0.", " ", "We", Strength.SENTENCE),
    ],
)
def test_strengths(before: str, gap: str, after: str, strength: Strength) -> None:
    """The sentence comes before the clause, the clause before the phrase, and numbers stay whole."""
    assert gap_strength(before, gap, after, is_whole_word=True, language="en") == strength


@given(st.text(min_size=1, max_size=40), st.sampled_from([" ", "\n", "\u2028", ""]), st.text(min_size=1, max_size=8))
def test_any_text_can_be_judged(before: str, gap: str, after: str) -> None:
    """No text whatsoever breaks the judgement; sentencex alone panics on some white space."""
    assert gap_strength(before, gap, after, is_whole_word=False, language="en") in Strength
