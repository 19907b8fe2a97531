"""The cutter that lets a listener hear the first sentence at once, and cuts as the original does afterwards."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.fish_speech.early_cutter import EarlyCutter
from server.fish_speech.text import byte_count, is_speakable, segment_text, split_text

STORY = (
    "Good morning, Dr. Smith. It is 3.5 degrees outside, and the road to the coast is closed today. You could take the "
    "train at ten, or wait. The keeper of the lighthouse says that the storm will be over by noon, though he has said "
    "so before. Shall I book a seat for you, or would you rather stay at home and read? There is time enough to think."
)
TEXTS = st.lists(
    st.sampled_from(["word ", "a", "Dr. ", "3.", "5", ". ", "! ", "? Yes", ", ", "\n", "。", "\U0001f600", "a" * 50]),
    max_size=60,
).map("".join)


def _cut(cutter: EarlyCutter, text: str, size: int) -> list[str]:
    return [segment for start in range(0, len(text), size) for segment in cutter.push(text[start : start + size])]


def test_segments_grow_from_the_first_sentence() -> None:
    """The first one ends with its sentence, the next may from twice its length on; an abbreviation ends none."""
    cutter = EarlyCutter(200, 20)
    segments = _cut(cutter, STORY, 3) + cutter.flush()
    assert segments[0] == "Good morning, Dr. Smith. "
    assert segments[1] == "It is 3.5 degrees outside, and the road to the coast is closed today. "
    lengths = [byte_count(segment.strip()) for segment in segments]
    assert 200 >= lengths[2] >= 2 * lengths[1]
    assert STORY == "".join(segments)


def test_the_first_segment_is_there_with_the_next_word() -> None:
    """One character of the next sentence is enough; with the whole text it would have been a segment of 200 bytes."""
    cutter = EarlyCutter(200, 20)
    assert [] == cutter.push("Good morning, everybody. ")
    assert ["Good morning, everybody. "] == cutter.push("W")


def test_a_short_sentence_waits_for_the_next() -> None:
    """What is shorter than the least length is spoken together with what follows."""
    assert ["Yes. I can do that. "] == EarlyCutter(200, 12).push("Yes. I can do that. What")


def test_after_a_flush_somebody_waits_again() -> None:
    """The first sentence behind a flush is released early too."""
    cutter = EarlyCutter(60, 12)
    _cut(cutter, STORY, 5)
    cutter.flush()
    assert [" Hello there, you. "] == cutter.push(" Hello there, you. How")


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(10, 80), st.integers(1, 60), st.integers(1, 30))
def test_any_messages_give_the_same_segments(text: str, limit: int, first: int, size: int) -> None:
    """Where it cuts depends on the text alone; nothing is lost, and no segment is longer than the original's."""
    whole, parted = EarlyCutter(limit, first), EarlyCutter(limit, first)
    segments = _cut(whole, text, 100_000) + whole.flush()
    assert segments == _cut(parted, text, size) + parted.flush()
    assert text == "".join(segments) + whole.held
    for segment in map(segment_text, segments):
        # The original's split leaves each as it is: none is too long that need not be.
        assert split_text(segment, limit) == ([segment] if is_speakable(segment) else [])


@pytest.mark.parametrize("first", [20, 45])
def test_full_segments_are_those_of_the_original_for_the_rest(first: int) -> None:
    """Once segments are full, they are what the original makes of the text from there on."""
    cutter = EarlyCutter(80, first)
    segments = _cut(cutter, STORY, 4) + cutter.flush()
    early = next(index for index in range(1, len(segments)) if 2 * byte_count(segments[index - 1].strip()) > 80)
    rest = "".join(segments[early:])
    assert split_text(rest, 80) == [segment_text(segment) for segment in segments[early:]]
