"""The table of words that the G2P would guess wrong."""
# ruff: noqa: RUF001  (phonemes look like letters of other scripts)

import json
from pathlib import Path

import pytest

from server.phonemes.pronunciations import ending_s, known_phonemes, read_pronunciations

VOCAB = Path(__file__).parents[3] / "voices" / "default" / "frontend" / "phonemes.json"


@pytest.mark.parametrize("british", [False, True])
def test_every_entry_is_made_of_phonemes_that_the_voice_knows(british: bool) -> None:
    """A word, a space, phonemes of the alphabet: nothing else stands in the file."""
    known = set(json.loads(VOCAB.read_text("utf-8"))["vocab"])
    table = read_pronunciations(british=british)

    assert len(table) > 200
    assert [word for word, phonemes in table.items() if not phonemes or set(phonemes) - known] == []


def test_capitals_find_a_name_and_small_letters_do_not() -> None:
    """A shouted name is still the name; a word that only looks like one is not."""
    table = read_pronunciations(british=False)

    assert known_phonemes("SEAN", table) == known_phonemes("Sean", table) == "ʃˈɔn"
    assert known_phonemes("los", table) is None


def test_british_voices_have_their_own_alphabet() -> None:
    """No r but before a vowel, and the British o."""
    table = read_pronunciations(british=True)

    assert (table["Olivia"], table["Xavier"], table["Goethe"]) == ("Qlˈɪviə", "zˈAvjə", "ɡˈɜːtə")


def test_the_ending_follows_the_last_sound() -> None:
    """Voiced behind voiced sounds, unvoiced behind unvoiced ones, a syllable of its own behind a hiss."""
    assert [ending_s(stem) for stem in ("ʃˈɔn", "ʒˈɑk", "luˈis")] == ["z", "s", "ᵻz"]
