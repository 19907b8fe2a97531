"""Cuts as the original does, but for the beginning: whoever waits for the first word does not wait for a full segment.

To fill a segment the original has to see the text that no longer fits, some 200 bytes: seconds, when a language model
writes it. Here the first segment ends with its first sentence. Each one after it may end with a sentence from twice the
length of the one before, since it is needed only when that one has been spoken; from the third or fourth on segments
are full, and are those of the original for the rest of the text.
"""

from server.fish_speech.byte_cutter import ByteCutter
from server.fish_speech.text import byte_count, clean_text
from server.segment_cutter import SegmentCutter

_GROWTH = 2
_NEVER = 1 << 40


class EarlyCutter:
    """Cuts the text of one utterance; see `ByteCutter` for what is promised of it.

    Where it cuts depends on the text and on the places of the flushes, never on how the text was split into messages.

    Args:
        limit_bytes: Longest segment.
        first_bytes: Shortest segment that may end with a sentence at the beginning, and after a flush.
    """

    def __init__(self, limit_bytes: int, first_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._first_bytes = first_bytes
        self._exact = ByteCutter(limit_bytes)
        self._begin()

    @property
    def held(self) -> str:
        """What was pushed and is in no segment yet."""
        return self._exact.held

    def push(self, text: str) -> list[str]:
        """Take any piece of text; return the segments it completes."""
        segments: list[str] = []
        for index, char in enumerate(text):
            if self._wanted_bytes > self._limit_bytes:
                return segments + self._exact.push(text[index:])
            segments += self._read(char)
        return segments

    def flush(self) -> list[str]:
        """Return what is held as segments, whether its sentence is complete or not; blank text stays held."""
        segments = self._exact.flush()
        self._begin()
        return segments

    def _begin(self) -> None:
        self._wanted_bytes = self._first_bytes
        self._sentences = SegmentCutter(_NEVER, _NEVER)
        self._unproven_count = 0
        """Characters at the end of which nobody knows yet whether a sentence ends before them."""

    def _read(self, char: str) -> list[str]:
        segments = self._exact.push(char)
        self._unproven_count += 1
        for sentence in self._sentences.push(char):
            self._unproven_count -= len(sentence)
            segments += self._end_with_sentence()
        for segment in segments:
            self._wanted_bytes = max(self._wanted_bytes, _GROWTH * _spoken_bytes(segment))
        return segments

    def _end_with_sentence(self) -> list[str]:
        """End a segment before the text that is not proven to be a sentence, if it is long enough and fits."""
        length = len(self._exact.held) - self._unproven_count
        if length <= 0 or not self._wanted_bytes <= _spoken_bytes(self._exact.held[:length]) <= self._limit_bytes:
            return []
        return self._exact.cut(length)


def _spoken_bytes(text: str) -> int:
    return byte_count(clean_text(text))
