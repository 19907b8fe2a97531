"""Cleaning and splitting of text, equal to Fish Speech 1.5's own, its oddities included.

The model reads raw text of many languages, so cleaning is slight: nothing is spelled out. Segments are limited in
UTF-8 bytes, not characters. An oddity kept on purpose: a decimal is guarded as `<3_f_14>` while sentences are cut, and
text that already looks so comes out as `3.14`.
"""

import re
import string
from collections.abc import Iterable

APOSTROPHES = str.maketrans({"\u2018": "'", "\u2019": "'"})
EMOJI = re.compile("[\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e0-\U0001f1ff]+")
_COMMAS = re.compile(",{2,}")
_DECIMAL = re.compile(r"(\d+)\.(\d+)")
_GUARDED = re.compile(r"<(\d+)_f_(\d+)>")
SENTENCE_ENDS = frozenset(".!?\u3002\uff01\uff1f")  # and the full-width stop, exclamation and question mark
COMMA_ENDS = frozenset(",\uff0c")  # and the full-width comma
_SPACES = frozenset(" ")


def clean_text(text: str) -> str:
    """Trim `text`, straighten apostrophes, drop the emoji that the model never saw and collapse runs of commas."""
    return _COMMAS.sub(",", EMOJI.sub("", text.strip().translate(APOSTROPHES)))


def split_text(text: str, limit_bytes: int) -> list[str]:
    """Cut cleaned `text` into segments of at most `limit_bytes` UTF-8 bytes where that is possible.

    Text over the limit is cut after sentence ends; a piece still too long after commas, then after spaces, then
    anywhere. Neighboring pieces are joined again as far as the limit allows. Segments without a speakable character
    are dropped. A cut made anywhere falls after the character that reaches the limit, so it may exceed it by 3 bytes.
    """
    pieces: Iterable[str] = [_DECIMAL.sub(r"<\1_f_\2>", clean_text(text))]
    pieces = _cut_after(pieces, limit_bytes, SENTENCE_ENDS)
    pieces = [_GUARDED.sub(r"\1.\2", piece) for piece in pieces]
    pieces = _cut_after(pieces, limit_bytes, COMMA_ENDS)
    pieces = _cut_after(pieces, limit_bytes, _SPACES)
    pieces = _cut_anywhere(pieces, limit_bytes)
    joined = (segment.strip() for segment in _join(pieces, limit_bytes))
    return [segment for segment in joined if is_speakable(segment)]


def segment_text(segment: str) -> str:
    """Return what is spoken of a segment that was cut out of text as it came."""
    return _GUARDED.sub(r"\1.\2", clean_text(segment)).strip()


def is_speakable(text: str) -> bool:
    """Whether `text` holds anything but white space and ASCII punctuation."""
    return any(not (character.isspace() or character in string.punctuation) for character in text)


def byte_count(text: str) -> int:
    """Return the length of `text` in UTF-8 bytes; an unpaired surrogate counts as the three bytes it would take."""
    return len(text.encode("utf-8", "surrogatepass"))


def _cut_after(pieces: Iterable[str], limit_bytes: int, ends: frozenset[str]) -> list[str]:
    cut: list[str] = []
    for piece in pieces:
        if byte_count(piece) <= limit_bytes:
            cut.append(piece)
            continue
        start = 0
        for index, character in enumerate(piece):
            if character in ends:
                cut.append(piece[start : index + 1])
                start = index + 1
        if start < len(piece):
            cut.append(piece[start:])
    return cut


def _cut_anywhere(pieces: Iterable[str], limit_bytes: int) -> list[str]:
    cut: list[str] = []
    for piece in pieces:
        if byte_count(piece) <= limit_bytes:
            cut.append(piece)
            continue
        start, size_bytes = 0, 0
        for index, character in enumerate(piece):
            size_bytes += byte_count(character)
            if size_bytes >= limit_bytes:
                cut.append(piece[start : index + 1])
                start, size_bytes = index + 1, 0
        if start < len(piece):
            cut.append(piece[start:])
    return cut


def _join(pieces: Iterable[str], limit_bytes: int) -> list[str]:
    joined = [""]
    for piece in pieces:
        if byte_count(joined[-1]) + byte_count(piece) <= limit_bytes:
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined
