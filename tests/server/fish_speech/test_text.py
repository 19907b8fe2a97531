"""Cleaning and splitting of text against what the original does."""

import json
from pathlib import Path

import pytest

from server.fish_speech.text import clean_text, is_speakable, split_text

CASES = json.loads((Path(__file__).parents[2] / "data/fish_speech_1_5/text/text.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[str(index) for index in range(len(CASES))])
def test_text_is_cleaned_and_split_as_by_the_original(case: dict[str, object]) -> None:
    """Every recorded text gives the same cleaned text and the same segments."""
    assert clean_text(str(case["text"])) == case["clean"]
    assert split_text(str(case["text"]), int(str(case["length"]))) == case["segments"]


def test_an_unpaired_surrogate_is_cut_like_any_character() -> None:
    """Text that is not valid Unicode is split, not refused with a traceback."""
    assert split_text("ab\ud800cd", 3) == ["ab\ud800", "cd"]


def test_only_white_space_and_ascii_punctuation_are_unspeakable() -> None:
    """A Chinese full stop counts as speakable, as in the original."""
    assert [is_speakable(text) for text in ("?! \n", "。", "a", "")] == [False, True, True, False]
