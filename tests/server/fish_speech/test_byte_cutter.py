"""The incremental cutter against the split of the whole text, which equals the original's."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import itertools
import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from server.fish_speech.byte_cutter import ByteCutter
from server.fish_speech.text import byte_count, is_speakable, segment_text, split_text

CASES = json.loads((Path(__file__).parents[2] / "data/fish_speech_1_5/text/text.json").read_text())
# Everything the rules look at: ends of each strength, digits of two scripts, decimals, blanks, emoji, wide characters.
PIECES = st.sampled_from(
    [*"abc13.!?,，。！？ \n\t<>_f’んé٣\u3000\U0001f600", "1.5", "<3_f_4>", "  ", ",,", "word", "Dr. ", "..."]
)
TEXTS = st.lists(PIECES, max_size=80).map("".join)


def _spoken(segments: list[str]) -> list[str]:
    """What the front end speaks of segments."""
    spoken = [segment_text(segment) for segment in segments]
    return [text for text in spoken if is_speakable(text)]


def _pieces(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.parametrize("case", CASES, ids=[str(index) for index in range(len(CASES))])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_recorded_texts_are_cut_as_by_the_original(case: dict[str, object], size: int) -> None:
    """Every recorded text gives the recorded segments, in pieces of any size."""
    text, cutter = str(case["text"]), ByteCutter(int(str(case["length"])))
    cut = [segment for start in range(0, len(text), size) for segment in cutter.push(text[start : start + size])]
    assert case["segments"] == _spoken(cut + cutter.flush())


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.integers(1, 40), st.lists(st.integers(0, 1000), max_size=6))
@example("a b, " * 30, 12, [])
@example("v1.2.3.4 is 3.\U0001f60014, no 3. 14", 8, [5])
def test_any_messages_give_the_segments_of_the_whole(text: str, limit: int, cuts: list[int]) -> None:
    """However the text arrives, the segments are those of the original's split, and nothing of it is lost."""
    cutter = ByteCutter(limit)
    cut = [segment for piece in _pieces(text, cuts) for segment in cutter.push(piece)] + cutter.flush()
    assert text == "".join(cut) + cutter.held
    assert not cutter.held.strip()
    assume(not _cuts_a_guard(text, limit))
    assert split_text(text, limit) == _spoken(cut)


def _cuts_a_guard(text: str, limit: int) -> bool:
    """A decimal written `<3_f_4>` inside a word too long for a segment is never torn here; the original may."""
    return any("_f_" in word and byte_count(word) > limit for word in re.split(r"[ ,，]", text))


WORDY_TEXTS = st.lists(st.sampled_from([*"abc1.!?, \n", "word", "three ", " to"]), max_size=40).map("".join)


def _continuations(limit: int) -> list[str]:
    """Texts that make what went before whole, or break it at any place there is."""
    ends = ["", ".", ",", " ", ". x", ", x", "x ", "x, ", "x.", ".5", "x" * (limit + 1), ",x" * limit, "x," * limit]
    long = " x" * limit
    return [*ends, *("x" * count + end + long for count in range(0, limit, 3) for end in (" ", ",", ". ", ""))]


@settings(max_examples=200, deadline=None)
@given(WORDY_TEXTS, st.integers(8, 40))
def test_a_segment_is_released_as_soon_as_nothing_can_change_it(text: str, limit: int) -> None:
    """What is released begins the split of every continuation; only what ends the text so far may still be held."""
    released = _spoken(ByteCutter(limit).push(text))
    splits = [split_text(text + rest, limit) for rest in _continuations(limit)]
    agreed = [firsts[0] for firsts in zip(*splits, strict=False) if len(set(firsts)) == 1]
    assert released == agreed[: len(released)]
    assert all(segment_text(text).endswith(segment) for segment in agreed[len(released) : len(released) + 1])


@pytest.mark.parametrize(
    ("text", "released"),
    [
        ("One two. Three", ["One two."]),  # the word alone does not fit
        ("One two. Th", []),  # it may still be short
        ("One two.", []),
        ("One two. Ab c", []),  # " Ab" fits, should the sentence grow too long
        ("One two. Ab cdefghij.", ["One two. Ab"]),
        ("One, two three, four", ["One,", "two three,"]),
    ],
)
def test_when_segments_of_twelve_bytes_are_released(text: str, released: list[str]) -> None:
    """At the first character that can no longer fit, and not before."""
    assert released == [segment.strip() for segment in ByteCutter(12).push(text)]


def test_a_flush_ends_a_text() -> None:
    """What is held is spoken; what follows is a text of its own, and blank text waits for it."""
    cutter = ByteCutter(100)
    assert [] == cutter.push("  It costs 3.")
    assert ["  It costs 3."] == cutter.flush()
    assert [] == cutter.push("14 \n ") + cutter.push("")
    assert ["14"] == cutter.flush()
    assert [] == cutter.flush()
    assert " \n " == cutter.held
    assert [" \n more"] == cutter.push("more") + cutter.flush()


def test_long_runs_are_read_in_linear_time() -> None:
    """A hundred thousand blanks, stops or digits in single characters come to an end, with nothing lost."""
    for char in (" ", ".", "7", "<", ","):
        cutter = ByteCutter(200)
        cut = [segment for _ in range(100_000) for segment in cutter.push(char)] + cutter.flush()
        assert 100_000 == len("".join(cut)) + len(cutter.held)
