"""The words of `pronunciations.txt`: what the G2P would guess wrong, with the phonemes to use instead."""
# ruff: noqa: RUF001  (phonemes look like letters of other scripts)

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "pronunciations.txt"
_VOWELS = "AIOWYQaiueoɑɔəɛɜɪʊʌæᵊᵻˈˌ"
# What a British voice makes of the American alphabet: no r but before a vowel, other diphthongs, no flapped t.
_BRITISH = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"([ɑɔɜɛ])ɹ(?![{_VOWELS}])", r"\1ː"),
        (rf"əɹ(?![{_VOWELS}])", "ə"),
        (rf"ɪɹ(?![{_VOWELS}])", "ɪə"),
        ("O", "Q"),
        ("T", "t"),
        ("ᵊ", "ə"),
    )
)


@cache
def read_pronunciations(*, british: bool) -> Mapping[str, str]:
    """Return phonemes by word, in the G2P's American or British alphabet."""
    lines = _FILE.read_text("utf-8").splitlines()
    entries = [line.partition(" ") for line in lines if not line.startswith("#")]
    return {word: _as_british(phonemes) if british else phonemes for word, _, phonemes in entries}


def known_phonemes(word: str, table: Mapping[str, str]) -> str | None:
    """Return the phonemes of a word of the table, also when it is written in capitals only; None for any other."""
    phonemes = table.get(word)
    return table.get(word.capitalize()) if phonemes is None and word.isupper() else phonemes


def ending_s(stem: str) -> str:
    """Return the phonemes of the "'s" behind a word."""
    if stem[-1] in "szʃʒʧʤ":
        return "ᵻz"
    return "s" if stem[-1] in "ptkfθ" else "z"


def _as_british(phonemes: str) -> str:
    for pattern, replacement in _BRITISH:
        phonemes = pattern.sub(replacement, phonemes)
    return phonemes
