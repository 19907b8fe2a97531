"""Words as the G2P's lexicon knows them: shouting in capitals, foreign accents and stretched letters are undone."""

import re
import unicodedata
from collections.abc import Callable, Sequence

IsKnown = Callable[[str], bool]
_BARE = re.compile(r"([^\W\d_]+(?:'[^\W\d_]+)*?)((?:'[sS])?)(?![^\W\d_]|'[^\W\d_])")
"""A word, and the "'s" behind it."""
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_FEWEST_SHOUTED, _SHOUTED_SHARE = 3, 0.7
_FEWEST_CAPITALS, _LONGEST_ABBREVIATION = 3, 4
_NAMES_IN_CAPITALS = frozenset({"WHO"})


def familiar_words(words: Sequence[str], is_known: IsKnown) -> list[str]:
    """Rewrite words, one for one, so that the lexicon finds them.

    Args:
        words: Of one text, in order, with the punctuation around them.
        is_known: Whether the lexicon holds a word exactly as it is written.
    """
    is_shouted = _is_shouted(words)

    def rewritten(match: re.Match[str]) -> str:
        word, ending = match.groups()
        if word.isupper():
            calmed = _calmed(word, is_known, is_shouted=is_shouted)
            return calmed + (ending if calmed == word else ending.lower())
        return _shortened(_without_accents(word, is_known), is_known) + ending

    return [_BARE.sub(rewritten, word) for word in words]


def _is_shouted(words: Sequence[str]) -> bool:
    """Return whether a text is written in capitals, rather than holding an abbreviation or two."""
    bare = [match.group(1) for word in words for match in _BARE.finditer(word)]
    lengthy = [word for word in bare if len(word) > 1]
    capital = [word for word in lengthy if word.isupper()]
    return len(capital) >= _FEWEST_SHOUTED and len(capital) >= _SHOUTED_SHARE * len(lengthy)


def _calmed(word: str, is_known: IsKnown, *, is_shouted: bool) -> str:
    """Return a word in capitals as the word it is: one that is shouted, or that can be no abbreviation."""
    lower = _shortened(word.lower(), is_known) if len(word) > _LONGEST_ABBREVIATION else word.lower()
    if len(word) < 2 or not is_known(lower):
        return word
    is_abbreviation = is_known(word) or len(word) < _FEWEST_CAPITALS or word in _NAMES_IN_CAPITALS
    return lower if is_shouted or not is_abbreviation else word


def _without_accents(word: str, is_known: IsKnown) -> str:
    """Return a word without its accents if the lexicon knows it only so."""
    if word.isascii() or is_known(word) or is_known(word.lower()):
        return word
    plain = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return plain if is_known(plain) or is_known(plain.lower()) else word


def _shortened(word: str, is_known: IsKnown) -> str:
    """Return a word such as "sooo" with the letters that make it a word, or with single ones if nothing does."""
    if not _STRETCHED.search(word):
        return word
    double, single = _STRETCHED.sub(r"\1\1", word), _STRETCHED.sub(r"\1", word)
    return next((short for short in (double, single) if is_known(short.lower())), single)
