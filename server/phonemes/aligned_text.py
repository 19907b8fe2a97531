"""A text that is being rewritten and never forgets which characters of the original it came from."""

import re
from collections.abc import Callable

Replacement = str | Callable[[re.Match[str]], str]


class AlignedText:
    """A text with the stretch of the original behind each of its characters.

    Args:
        original: The text before any change.
    """

    def __init__(self, original: str) -> None:
        self.text = original
        self._starts = list(range(len(original)))
        self._ends = list(range(1, len(original) + 1))

    def sub(self, pattern: re.Pattern[str], replacement: Replacement) -> None:
        """Replace every match, as `re.sub` does; what is put in comes from the whole of what was matched."""
        matches = list(pattern.finditer(self.text))
        if not matches:
            return
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        position = 0
        for match in matches:
            begin, end = match.span()
            new = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
            pieces += (self.text[position:begin], new)
            starts += self._starts[position:begin]
            ends += self._ends[position:begin]
            span_start, span_end = self.origin(begin, end)
            starts += [span_start] * len(new)
            ends += [span_end] * len(new)
            position = end
        self.text = "".join(pieces) + self.text[position:]
        self._starts = starts + self._starts[position:]
        self._ends = ends + self._ends[position:]

    def origin(self, begin: int, end: int) -> tuple[int, int]:
        """Return where text[begin:end] came from, as start and end in the original; an empty stretch for empty text."""
        if begin < end:
            return min(self._starts[begin:end]), max(self._ends[begin:end])
        before = self._ends[begin - 1] if begin else 0
        return before, before
