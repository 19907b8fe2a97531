"""Text to phonemes, word by word, each word with its place in the text it was written in."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from hibari.g2p import G2P, PUNCT_TAGS
from hibari.g2p.normalize import normalize

from server.phonemes.aligned_text import AlignedText
from server.phonemes.familiar import familiar_words
from server.phonemes.pronunciations import ending_s, known_phonemes, read_pronunciations
from server.phonemes.reading import make_readable
from server.phonemes.speakable import keep_speakable

_SOUNDLESS = re.compile('[\\s;:,.!?—…"“”()ˈˌː]*')
# Dashes part words; a hyphen, a slash or an apostrophe does not.
_WRITTEN_WORD = re.compile(r"[^\s—–―]+")
_OUTER = ".,;:!?…\"'“”‘’«»()[]{}<>*_~`|\\-¿¡"
_ALPHANUMERIC = re.compile(r"[^\W_]")
_SPOKEN_SIGN = re.compile(r"[^\W_]|[*<>~=+^&%@#$€£/]")
# Signs that the G2P passes through and that the voice never met.
_UNTRAINED = str.maketrans({"…": ".", '"': "", "(": "", ")": ""})
_WARM_UP = "Dr. Zorblax paid $3.50 at 10:30 p.m."


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """The phonemes of what was written as one word, or spoken as one, with the punctuation around it.

    Attributes:
        phonemes: In the alphabet of the G2P.
        char_start: Where the word begins in the text; equal to `char_end` if the phonemes are mere punctuation.
        char_end: Where it ends.
    """

    phonemes: str
    char_start: int
    char_end: int

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to be heard but a pause."""
        return _SOUNDLESS.fullmatch(self.phonemes) is not None


class Pronouncer:
    """English G2P: hibari-tts with the rules of `reading` before it. Safe to use from several threads.

    Args:
        british: Read as in Britain rather than as in America.
    """

    def __init__(self, *, british: bool) -> None:
        self._g2p = G2P(british=british)
        self._pronunciations = read_pronunciations(british=british)
        # Loads what hibari loads on first use, while nobody else is looking.
        self._g2p(_WARM_UP)

    def pronounce(self, text: str) -> tuple[list[Pronunciation], tuple[str, ...]]:
        """Return the pronunciation of a text, in order, and the parts of it that cannot be spoken.

        Every written word with a letter or a digit is part of exactly one pronunciation, or left out and reported.
        Joined by spaces, the phonemes are those of the whole text.
        """
        aligned = AlignedText(text)
        unspoken = [*keep_speakable(aligned, text), *make_readable(aligned, text)]
        readable, places = _words_with_places(aligned)
        normal = normalize(aligned.text).split()
        phonemes = self._phonemes(" ".join(familiar_words(normal, self._is_known)))
        spoken = zip(phonemes, _carried_over(readable, places, normal), strict=True)
        pronunciations = list(_grouped(spoken, text))
        silent = [word for word in pronunciations if word.is_silent and word.char_start < word.char_end]
        unspoken += [text[word.char_start : word.char_end] for word in silent]
        return pronunciations, tuple(unspoken)

    def _is_known(self, word: str) -> bool:
        lexicon = self._g2p.lexicon
        return word in self._pronunciations or word in lexicon.golds or word in lexicon.silvers

    def _phonemes(self, text: str) -> list[str]:
        """Return the phonemes of each word of a normalized text."""
        words, parts = [], []
        tokens = self._g2p.tokenize(text)
        stem = ""
        for token in tokens:
            # The tagger takes a rare number for punctuation, which would leave it out.
            if token.tag in PUNCT_TAGS and _ALPHANUMERIC.search(token.text):
                token.tag = "CD" if token.text[-1].isdigit() else "NN"
            is_ending = bool(stem) and token.text.lower() == "'s"
            token.phonemes = ending_s(stem) if is_ending else known_phonemes(token.text, self._pronunciations)
            stem = "" if token.whitespace else token.phonemes or ""
        for token in self._g2p.phonemize_tokens(tokens):
            parts.append((token.phonemes or "").translate(_UNTRAINED))
            if token.whitespace:
                words.append("".join(parts))
                parts = []
        return [*words, "".join(parts)] if text else []


def _words_with_places(aligned: AlignedText) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the words of the readable text and where in the original each came from."""
    matches = list(re.finditer(r"\S+", aligned.text))
    return [match.group() for match in matches], [aligned.origin(*match.span()) for match in matches]


def _carried_over(words: list[str], places: list[tuple[int, int]], normal: list[str]) -> list[tuple[int, int]]:
    """Return a place for each normalized word: that of the words it stands for."""
    if words == normal:
        return places
    carried: list[tuple[int, int]] = []
    dropped = None  # the place of words that have gone; the next word speaks for them, as "5 dollars" for "USD 5"
    for operation, begin, end, new_begin, new_end in SequenceMatcher(None, words, normal, autojunk=False).get_opcodes():
        if operation == "delete":
            dropped = places[begin][0]
            continue
        if operation == "equal":
            new = places[begin:end]
        elif operation == "replace":
            new = [(places[begin][0], places[end - 1][1])] * (new_end - new_begin)
        else:
            new = [(places[begin - 1][1] if begin else 0,) * 2] * (new_end - new_begin)
        if dropped is not None:
            new[0] = (dropped, max(dropped, new[0][1]))
            dropped = None
        carried += new
    if dropped is not None and carried:
        carried[-1] = (carried[-1][0], places[-1][1])
    return carried


def _grouped(spoken: Iterable[tuple[str, tuple[int, int]]], text: str) -> Iterator[Pronunciation]:
    """Join what was written as one word: "10:30 p.m." is spoken in many words, all at one place of the text."""
    written = _written_words(text)
    phonemes, char_start, char_end = "", 0, 0
    for word, place in spoken:
        start, end = _whole_words(written, place)
        if start == end:
            phonemes = f"{phonemes} {word}".strip()
        elif start < char_end or char_start == char_end:
            phonemes = f"{phonemes} {word}".strip()
            char_start, char_end = start if char_start == char_end else char_start, max(char_end, end)
        else:
            yield Pronunciation(phonemes, char_start, char_end)
            phonemes, char_start, char_end = word, start, end
    if phonemes or char_start < char_end:
        yield Pronunciation(phonemes, char_start, char_end)


def _written_words(text: str) -> list[tuple[int, int]]:
    """Return where the words of the text stand, without the punctuation around them."""
    words = []
    for match in _WRITTEN_WORD.finditer(text):
        begin, end = match.span()
        bare = match.group().strip(_OUTER)
        if not bare and _SPOKEN_SIGN.search(match.group()):
            words.append((begin, end))
        elif bare:
            begin += match.group().index(bare)
            end = begin + len(bare)
            # The last period of "p.m." and "U.S." belongs to the word, and so does the sign of "-5".
            is_negative = bare[0].isdigit() and text[begin - 1 : begin] == "-"
            words.append((begin - is_negative, end + ("." in bare and text[end : end + 1] == ".")))
    return words


def _whole_words(written: list[tuple[int, int]], place: tuple[int, int]) -> tuple[int, int]:
    """Widen a place to whole words; it becomes empty if there is no word in it."""
    touched = [word for word in written if word[0] < place[1] and place[0] < word[1]]
    return (touched[0][0], touched[-1][1]) if touched else (place[0], place[0])
