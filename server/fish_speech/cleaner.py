"""Cleans text one character at a time, and tells of each that is left how a cut may use it.

Gives what `clean_text` and the guard of decimals in `split_text` give for the whole text, but for text that is still
arriving: a character is passed on as soon as what follows cannot change what becomes of it.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from server.fish_speech.text import APOSTROPHES, COMMA_ENDS, EMOJI, SENTENCE_ENDS, byte_count


class Kind(IntEnum):
    """What a character is to a cut, the strongest end first."""

    SENTENCE = 0
    """Ends a sentence."""
    COMMA = 1
    SPACE = 2
    PLAIN = 3
    BLANK = 4
    """White space that is no place to cut."""


_ENDS = dict.fromkeys(SENTENCE_ENDS, Kind.SENTENCE) | dict.fromkeys(COMMA_ENDS, Kind.COMMA) | {" ": Kind.SPACE}


class Mark(NamedTuple):
    """One character of the cleaned text."""

    kind: Kind
    size_bytes: int
    start: int
    """Where it stands in the text as it came."""


# What follows in `<3_f_14>`, by what was read of it; a decimal that a user writes so is read as 3.14.
_GUARD = {"<": "0", "<0": "0_", "<0_": "f", "<0_f": "_", "<0_f_": "0", "<0_f_0": "0>"}


class Cleaner:
    """Cleans one text.

    Args:
        take: Is given the characters that are left, in order.
    """

    def __init__(self, take: Callable[[Mark], None]) -> None:
        self._take = take
        self._has_begun = False
        self._begin()

    def read(self, char: str, start: int) -> None:
        """Read the next character, which stands at `start`."""
        if char.isspace():
            self._settle_stop(is_decimal=False)
            if self._has_begun:  # it counts only if something follows
                self._blanks.append((char, start))
            return
        self._has_begun = True
        if self._blanks:
            for blank, place in self._blanks:
                self._clean(blank, place)
            self._blanks.clear()
        if char.isascii():
            self._clean(char, start)
        elif not EMOJI.match(char):
            self._clean(char.translate(APOSTROPHES), start)

    def finish(self) -> None:
        """Read the end of the text; what comes next begins another one."""
        self._give_up_guard()
        self._settle_stop(is_decimal=False)
        self._begin()

    def _begin(self) -> None:
        self._has_begun = False
        self._blanks: list[tuple[str, int]] = []
        """White space behind the last character."""
        self._last = ""
        self._guard = ""
        """What was read of a decimal written with its guard, all digits as one `0`."""
        self._guarded: list[tuple[str, int]] = []
        self._is_number = False
        """Whether a stop now could be that of a decimal."""
        self._is_fraction = False
        self._stop: int | None = None
        """Where a stop stands that ends a sentence unless a digit follows."""

    def _clean(self, char: str, start: int) -> None:
        if char == "," and self._last == ",":
            return
        self._last = char
        symbol = "0" if char.isdecimal() else char
        if self._guard:
            if symbol in _GUARD[self._guard]:
                self._read_guard(char, symbol, start)
                return
            self._give_up_guard()
        if char == "<":
            self._settle_stop(is_decimal=False)
            self._guard, self._guarded = "<", [(char, start)]
        else:
            self._pass(char, start)

    def _read_guard(self, char: str, symbol: str, start: int) -> None:
        if symbol == ">":
            digits = "".join(known for known, _ in self._guarded if known.isdecimal())
            self._take(Mark(Kind.PLAIN, byte_count(digits) + 1, self._guarded[0][1]))
            self._guard, self._guarded, self._is_number, self._is_fraction = "", [], False, False
            return
        self._guarded.append((char, start))
        if not self._guard.endswith(symbol):
            self._guard += symbol

    def _give_up_guard(self) -> None:
        held, self._guard, self._guarded = self._guarded, "", []
        for char, start in held:
            self._pass(char, start)

    def _pass(self, char: str, start: int) -> None:
        is_digit = char.isdecimal()
        if self._stop is not None:
            self._settle_stop(is_decimal=is_digit)
        if char == "." and self._is_number:
            self._stop = start
            return
        self._is_fraction &= is_digit
        self._is_number = is_digit and not self._is_fraction
        size_bytes = 1 if char.isascii() else byte_count(char)
        kind = _ENDS.get(char, Kind.BLANK if char.isspace() else Kind.PLAIN)
        self._take(Mark(kind, size_bytes, start))

    def _settle_stop(self, *, is_decimal: bool) -> None:
        """Say what the stop before was, now that it is known what follows it."""
        if self._stop is not None:
            self._is_number, self._is_fraction = False, is_decimal
            self._take(Mark(Kind.PLAIN if is_decimal else Kind.SENTENCE, 1, self._stop))
            self._stop = None
