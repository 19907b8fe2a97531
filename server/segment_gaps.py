"""How good a place is to cut: the strength of the gap between two words. Pure; looks at text, never at its arrival."""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import re
from enum import IntEnum

import sentencex

_WHITE_SPACE = re.compile(r"\s")
_LINE_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028]")
_BLANK_LINE = re.compile(r"[\f\u2029]")
_LIST_MARKER = re.compile(r"(?:[-*+•–—]|\(?(?:\d{1,3}|[A-Za-z])[.)]|#{1,6}|>)")
_LIST_LINE = re.compile(rf"[ \t]*{_LIST_MARKER.pattern}\s")
_ALPHANUMERIC = re.compile(r"[^\W_]")
_QUOTES = "\"'“”‘’«»„‚()[]{}「」『』（）【】《》〈〉*_~`"
_CLAUSE_ENDS = frozenset(",;:—–…，、；：،؛·")
# Lower-case abbreviations that sentencex takes for the last word of a sentence.
_ABBREVIATIONS = frozenset(("approx", "apt", "dept", "ext", "incl", "cf", "resp", "viz", "tel"))
# fmt: off
_PHRASE_STARTS = frozenset((
    "and", "but", "or", "nor", "so", "yet", "because", "although", "though", "while", "whereas", "when", "where",
    "which", "who", "whose", "whom", "if", "unless", "until", "since", "whether", "than", "then", "before", "after",
    "that", "as", "with", "without", "for", "from", "into", "during", "through", "against", "between",
))
# fmt: on


class Strength(IntEnum):
    """How well speech bears a cut at a gap, the best last."""

    TIGHT = 0
    """Inside a number, a name or an abbreviation; only when nothing else is left."""
    WORD = 1
    """Between two plain words."""
    PHRASE = 2
    """Before a conjunction, a preposition or an opening bracket."""
    CLAUSE = 3
    """After a comma, a colon, a dash."""
    SENTENCE = 4
    """Between two sentences, two lines of a list, two paragraphs."""


def gap_strength(before: str, gap: str, after: str, *, is_whole_word: bool, language: str) -> Strength:
    """Say how strong a gap is.

    Args:
        before: Text from the first word of the segment up to the gap.
        gap: The white space; empty between two words of a script that writes none.
        after: The beginning of the next word, at least one character.
        is_whole_word: Whether `after` is the whole word, so that it may be recognized.
        language: Code for sentencex, for example "en".
    """
    word = after if is_whole_word else ""
    if gap == " " and before[-1].isalnum():  # most gaps, so the quickest way
        return _strength_inside_sentence(before, after, word)
    if _LIST_MARKER.fullmatch(before):
        return Strength.TIGHT
    if _is_paragraph_end(before, gap, word) or _is_sentence_end(before, gap, after, language):
        return Strength.SENTENCE if _ALPHANUMERIC.search(before) else Strength.TIGHT
    return _strength_inside_sentence(before, after, word)


def _is_paragraph_end(before: str, gap: str, word: str) -> bool:
    """Tell whether lines break for a reason: a blank line, a list, a heading. A single break may be mere layout."""
    break_count = len(_LINE_BREAK.findall(gap))
    if break_count > 1 or _BLANK_LINE.search(gap):
        return True
    if break_count == 0:
        return False
    line = _LINE_BREAK.split(before)[-1]
    return bool(_LIST_MARKER.fullmatch(word) or _LIST_LINE.match(line))


def _is_sentence_end(before: str, gap: str, after: str, language: str) -> bool:
    ending = before.rstrip(_QUOTES)
    if not ending or ending[-1].isalnum() or _last_word(ending).rstrip(".").lower() in _ABBREVIATIONS:
        return False
    # sentencex 1.0.32 panics on white space outside ASCII; for the cut all white space is the same.
    text = _WHITE_SPACE.sub(" ", before + gap + after)
    if ending[-1] in ".!?" and before[-1] == ")" and after[0].isupper():
        return True
    target, position = len(before) + len(gap), 0
    for sentence in sentencex.segment(language, text)[:-1]:
        position += len(sentence)
        low, high = sorted((position, target))
        # sentencex may put the quote or bracket at the border on the other side of it.
        if not text[low:high].strip(_QUOTES + " "):
            return True
    return False


def _strength_inside_sentence(before: str, after: str, word: str) -> Strength:
    ending = before[-4:].rstrip(_QUOTES)
    last, first = ending[-1:], after[0]
    if not first.isalnum() and first not in _QUOTES:
        return Strength.TIGHT
    if last in _CLAUSE_ENDS or (last == "-" and _last_word(before) in ("-", "--")):
        is_number_pair = ending[-2:-1].isdigit() and first.isdigit() and last in ",:"
        return Strength.TIGHT if is_number_pair else Strength.CLAUSE
    if first in "(“[" or word.lower() in _PHRASE_STARTS:
        return Strength.PHRASE
    return Strength.WORD if last.isalpha() and first.isalpha() else Strength.TIGHT


def _last_word(text: str) -> str:
    return text[-16:].rpartition(" ")[2]
