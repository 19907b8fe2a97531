"""What should be heard beside what a recognizer wrote."""

import pytest

from training.alignment import align, word_error
from training.readings import plain_words


@pytest.mark.parametrize(
    ("spoken", "heard"),
    [
        ("your account ends in four four seven one", "Your account ends in 4471."),
        ("at two thirty p m", "At 2:30 p.m."),
        ("at seven o'clock", "at 7:00"),
        ("plate seven x k r two zero three", "Plate 7XKR203"),
        ("j o n e s", "J-O-N-E-S"),
        ("twelve dollars and fifty cents", "$12.50"),
        ("one point two billion dollars", "$1.2 billion"),
        ("one thousand two hundred four dollars and thirty six cents", "$1,204.36"),
        ("june fourteenth nineteen eighty four", "June 14, 1984"),
        ("the fourteenth of june", "14 June"),
        ("december twenty fifth twenty twenty four", "12/25/2024"),
        ("five to ten minutes and three quarters", "5-10 minutes and 3/4"),
        ("one ninety two dot one sixty eight dot zero dot one", "192.168.0.1"),
        ("the nineteen nineties at ninety percent", "the 1990s at 90%"),
        ("support at north dot com", "support@north.com"),
        ("a follow up and an ice cream", "a followup and an icecream"),
        ("it's okay mister smith we can't", "It is OK, Mr. Smith, we cannot."),
        ("zürich for two", "Zurich four to"),
    ],
)
def test_one_thing_written_in_two_ways_is_no_difference(spoken: str, heard: str) -> None:
    """Numbers, money, times, codes, contractions, words parted in another way, words that sound the same."""
    assert align(spoken, heard).differences == []


@pytest.mark.parametrize(
    ("spoken", "heard", "differences"),
    [
        ("call me now", "Call him now.", [[("me", "him")]]),
        ("call me now", "Call me.", [[("now", None)]]),
        ("call me", "Call me up.", [[(None, "up")]]),
        ("at two thirty", "At 2:40.", [[("thirty", "forty")]]),
        ("", "Yes.", [[(None, "yes")]]),
        ("yes", "", [[("yes", None)]]),
    ],
)
def test_differences(spoken: str, heard: str, differences: list[list[tuple[str | None, str | None]]]) -> None:
    """Words wrong, missing and too many are told apart."""
    assert align(spoken, heard).differences == differences


def test_the_word_error_is_over_all_words() -> None:
    """One of two and none of three is one in five."""
    assert word_error([align("no way", "go way"), align("all is well", "All is well.")]) == pytest.approx(0.2)
    assert word_error([]) == 0.0


def test_plain_words_are_bare() -> None:
    """Lower case, no accents, no punctuation, contractions written out."""
    assert plain_words("Zoë, you\u2019re OK — don't!") == ["zoe", "you", "are", "okay", "do", "not"]
