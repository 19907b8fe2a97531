"""Cuts arriving text into segments fit for speaking. Pure and incremental: text in, segments out, no clock, no I/O.

What is promised:

* Nothing is lost or doubled: the segments, joined, are the text pushed so far, minus what is still held. After `flush`
  only blank text is held.
* Where it cuts depends on the text and on the places of the flushes, never on how the text was split into messages.
* A segment ends at the end of a sentence, a paragraph or a line of a list, once the next word proves it: "Dr." and
  "3.14" end nothing. The first segment, and the first after a flush, may end at a clause from `first_cut_chars`
  characters on and before a conjunction from twice as many, because somebody waits for it. A sentence longer than
  `max_chars` is cut at its last clause, else at a conjunction, else between two words.
* Only a word that alone is longer than twice `max_chars` is cut, and then never inside a grapheme such as an emoji.
* A cut inside a sentence leaves the white space behind it on the segment; a flush does not. The phoneme front end hears
  the difference.
* The work is linear in the text, for any split of it.
"""

# ruff: noqa: RUF001  (the look-alikes of other scripts are meant)
import re
import unicodedata

from server.segment_gaps import Strength, gap_strength

# No-break spaces hold words together, so they are no gaps. Wide punctuation of Chinese and Japanese needs no space.
_WIDE_ENDS, _WIDE_CLOSERS = "。！？｡，、；：", "…」』）】》〉”’"
_GAP = re.compile(
    r"[^\S\u00a0\u202f\u2007]+"
    rf"|(?:(?<=[{_WIDE_ENDS}])|(?<=[{_WIDE_ENDS}][{_WIDE_CLOSERS}]))(?=[^\s{_WIDE_ENDS}{_WIDE_CLOSERS}])"
)
_WORD = re.compile(r"[\S\u00a0\u202f\u2007]")
_KNOWN_WORD_CHARS = 12
"""So much of a word tells a conjunction or a list marker from any other word."""
_JOINERS = frozenset("\u200d\u20e3") | {chr(code) for code in (*range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400))}


class SegmentCutter:
    """Cuts the text of one utterance.

    Args:
        max_chars: Longest segment wanted, in characters.
        first_cut_chars: Shortest first segment that may end at a clause; `max_chars` or more waits for the sentence.
        language: Main language of the voice, as a BCP 47 tag.
    """

    def __init__(self, max_chars: int = 110, first_cut_chars: int = 24, language: str = "en") -> None:
        self._max_chars = max_chars
        self._first_cut_chars = first_cut_chars
        self._language = language.partition("-")[0].lower()
        self._text = ""
        self._is_first = True
        self._begin_segment(0)

    def push(self, text: str) -> list[str]:
        """Take any piece of text; return the segments it completes."""
        # While only a local name refers to the text, CPython appends in place; a long run of spaces stays linear.
        held, self._text = self._text, ""
        held += text
        self._text = held
        segments = []
        while (cut := self._next_cut()) is not None:
            segments.append(held[self._start : cut])
            self._is_first = False
            self._begin_segment(cut)
        if self._start:
            self._text = held[self._start :]
            self._begin_segment(0)
            self._next_cut()
        return segments

    def flush(self) -> list[str]:
        """Return what is held as segments, whether its sentence is complete or not; blank text stays held."""
        if self._content < 0:
            return []
        segments = self.push(" ")  # ends the last word, which may prove one more cut before it
        segment = self._text.rstrip()
        if any(_is_visible(char) for char in segment):
            segments.append(segment)
        else:
            segment = ""
        self._text = self._text[len(segment) : -1]
        self._is_first = True
        self._begin_segment(0)
        self._next_cut()
        return segments

    def _begin_segment(self, start: int) -> None:
        """Read on from `start` of the text as the start of a segment."""
        self._start = start
        self._scan = start
        self._content = -1
        """Where the first word of the segment begins; -1 before it came."""
        self._word_start = -1
        """Where the word being read begins; -1 inside a gap."""
        self._gap_start = start
        self._gaps: list[tuple[int, Strength]] = []
        """Where the words after the first begin, and how strong the gap before each is."""
        self._is_judged = True
        """Whether enough of the current word was read to judge the gap before it for good."""

    def _next_cut(self) -> int | None:
        """Read on, word by word, to the next cut; None when it takes more text to know it."""
        while self._word_start >= 0 or self._enter_word():
            cut = self._read_word()
            if cut is not None or self._word_start >= 0:
                return cut
        return None

    def _enter_word(self) -> bool:
        """Find the beginning of the next word and judge the gap before it by that one character."""
        found = _WORD.search(self._text, self._scan)
        self._scan = found.start() if found else len(self._text)
        if not found:
            return False
        self._word_start = found.start()
        if self._content < 0:
            self._content = found.start()
        else:
            self._is_judged = False
            # Behind a letter, one character of the next word proves nothing.
            is_plain = (
                self._text[self._gap_start - 1].isalnum() and self._text[self._gap_start : self._word_start] == " "
            )
            strength = Strength.TIGHT if is_plain else self._judge(self._word_start + 1, is_whole_word=False)
            self._gaps.append((self._word_start, strength))
        return True

    def _read_word(self) -> int | None:
        """Read the current word as far as it is there; return the cut this proves. At its end, leave it."""
        if not self._is_judged and self._ends_segment():
            return self._word_start
        view = max(self._word_start + _KNOWN_WORD_CHARS, self._content + 2 * self._max_chars) + 1
        gap = _GAP.search(self._text, max(self._scan, self._word_start + 1), view)
        end = gap.start() if gap else min(len(self._text), view)
        known = min(end, self._word_start + _KNOWN_WORD_CHARS)
        if gap or known == self._word_start + _KNOWN_WORD_CHARS:
            if not self._is_judged:
                self._is_judged = True
                self._gaps[-1] = (self._word_start, max(self._gaps[-1][1], self._judge(known, is_whole_word=True)))
                if self._ends_segment():
                    return self._word_start
            if end > self._content + self._max_chars and (cut := self._cut_of_long_text(end)) is not None:
                return cut
        self._scan = end
        if gap:
            self._gap_start, self._scan, self._word_start = end, gap.end(), -1
        return None

    def _judge(self, known: int, *, is_whole_word: bool) -> Strength:
        """Judge the gap before the current word by the characters of the word up to `known`."""
        before = self._text[self._content : self._gap_start]
        gap, after = self._text[self._gap_start : self._word_start], self._text[self._word_start : known]
        return gap_strength(before, gap, after, is_whole_word=is_whole_word, language=self._language)

    def _ends_segment(self) -> bool:
        """Tell whether the gap before the current word ends the segment at once."""
        strength = self._gaps[-1][1]
        if strength in (Strength.CLAUSE, Strength.PHRASE) and self._is_first:
            shortest = self._first_cut_chars * (1 if strength == Strength.CLAUSE else 2)
            return self._gap_start - self._content >= shortest
        return strength == Strength.SENTENCE

    def _cut_of_long_text(self, end: int) -> int | None:
        """Choose among the gaps found; without any, cut the word itself once it is much too long."""
        if self._gaps:
            earliest = self._content + self._max_chars // 3
            for wanted in (Strength.CLAUSE, Strength.PHRASE, Strength.WORD):
                fitting = [position for position, found in self._gaps if found >= wanted and position >= earliest]
                if fitting:
                    return fitting[-1]
            return self._gaps[-1][0]
        limit = self._content + 2 * self._max_chars
        return _grapheme_start(self._text, limit, self._content + self._max_chars) if end > limit else None


def _grapheme_start(text: str, limit: int, earliest: int) -> int:
    """Return the last place in (earliest, limit] that does not lie inside a grapheme; `limit` if there is none."""
    for position in range(limit, earliest, -1):
        if not _extends(text[position]) and text[position - 1] != "\u200d":
            return position
    return limit


def _extends(char: str) -> bool:
    """Tell whether a character belongs to the one before it."""
    return char in _JOINERS or unicodedata.category(char) in ("Mn", "Me", "Mc")


def _is_visible(char: str) -> bool:
    """Tell whether a character is more than white space, control or invisible formatting."""
    return not char.isspace() and unicodedata.category(char) not in ("Cc", "Cf", "Mn")
