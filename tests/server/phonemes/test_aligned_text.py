"""A text that is rewritten and remembers where it came from."""

import re

from hypothesis import given
from hypothesis import strategies as st

from server.phonemes.aligned_text import AlignedText


def test_replaced_text_comes_from_what_was_matched() -> None:
    """New characters stand for the whole match, untouched ones for themselves, over any number of changes."""
    original = "pay $5 now"
    text = AlignedText(original)

    text.sub(re.compile(r"\$(\d)"), r"\1 dollars")
    text.sub(re.compile(r"5 dollars"), lambda match: match.group().replace("5", "five"))

    assert text.text == "pay five dollars now"
    assert [original[slice(*text.origin(*word.span()))] for word in re.finditer(r"\w+", text.text)] == [
        "pay",
        "$5",
        "$5",
        "now",
    ]


def test_taken_out_text() -> None:
    """Where characters were taken out, nothing is left, and the neighbors keep their places."""
    text = AlignedText("a**b**")

    text.sub(re.compile(r"\*\*"), "")

    assert text.text == "ab"
    assert [text.origin(0, 1), text.origin(1, 2), text.origin(1, 1), text.origin(0, 0)] == [
        (0, 1),
        (3, 4),
        (1, 1),
        (0, 0),
    ]


@given(
    st.text("ab c", max_size=20),
    st.lists(st.sampled_from(["a", "b+", " *c", "ab"]), max_size=5),
    st.text("xy ", max_size=3),
)
def test_same_text_as_re_sub(original: str, patterns: list[str], new: str) -> None:
    """The text is what `re.sub` makes, and every character has a place inside the original."""
    text, expected = AlignedText(original), original
    for pattern in patterns:
        text.sub(re.compile(pattern), new)
        expected = re.sub(pattern, new, expected)

    assert text.text == expected
    for position in range(len(expected)):
        start, end = text.origin(position, position + 1)
        assert 0 <= start <= end <= len(original)
