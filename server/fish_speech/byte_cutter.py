"""Cuts arriving text into the segments that Fish Speech's own `split_text` makes of the whole of it.

The original fills segments from left to right with the largest pieces that fit: sentences; the parts between commas of
a sentence that alone is longer than the limit; words of a part that is too long; and of a word that is too long what
the limit holds. So no more is to be known of the text than what can still become part of the segment being filled.
"""

from server.fish_speech.cleaner import Cleaner, Kind, Mark

_BLANKS = (Kind.SPACE, Kind.BLANK)


class ByteCutter:
    """Cuts the text of one utterance. Pure and incremental; the work is linear in the text, however it arrives.

    The segments, joined, are the text pushed so far, minus what is held; after `flush` only blank text is held. Cleaned
    and trimmed they are those of `split_text` for the text between two flushes. A segment is released once no text that
    may follow can become part of it.

    Args:
        limit_bytes: Longest segment, in UTF-8 bytes of the cleaned text. A word longer than that is cut behind the
            character that reaches the limit, which may exceed it by 3 bytes.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._text = ""
        self._offset = 0
        """Characters before those held; places of marks count from the first character of all."""
        self._cleaner = Cleaner(self._take)
        self._cuts: list[int] = []
        self._begin()

    @property
    def held(self) -> str:
        """What was pushed and is in no segment yet."""
        return self._text

    def push(self, text: str) -> list[str]:
        """Take any piece of text; return the segments it completes."""
        # While only a local name refers to the text, CPython appends in place; a long run of spaces stays linear.
        held, self._text = self._text, ""
        first = self._offset + len(held)
        held += text
        self._text = held
        for place, char in enumerate(text, first):
            self._cleaner.read(char, place)
        return self._cut()

    def flush(self) -> list[str]:
        """Return what is held as segments, whether its sentence is complete or not; blank text stays held."""
        self._cleaner.finish()
        if self._pending:
            self._join()
        visible = self._text.rstrip()
        if visible:
            self._cuts.append(self._offset + len(visible))
        self._begin()
        return self._cut()

    def cut(self, length: int) -> list[str]:
        """End a segment behind the first `length` characters that are held, as if the text ended there."""
        head, rest = self._text[:length], self._text[length:]
        self._text, self._offset = "", self._offset + length
        self._cleaner = Cleaner(self._take)
        self._begin()
        return [head, *self.push(rest)]

    def _begin(self) -> None:
        """Begin a text of its own."""
        self._depth = Kind.SENTENCE
        """The weakest place at which the text now being read is cut into pieces."""
        self._begin_piece()
        self._filled_bytes = 0
        """What the pieces of the segment being filled have."""
        self._is_blank = True
        self._closed_bytes = 0
        """What the segment before has, while blanks that are pending may still turn out to be its last ones."""

    def _begin_piece(self) -> None:
        self._pending: list[Mark] = []
        """The beginning of the next piece."""
        self._pending_bytes = 0
        self._least_bytes = 0
        """What has to fit at least for any of it to fit: its first word, or all before its first comma if that came."""
        self._least_end = Kind.PLAIN
        self._has_word = False

    def _take(self, mark: Mark) -> None:
        """Read on: end the piece, find that it must be cut at weaker places, or that nothing fits any more."""
        self._pending.append(mark)
        self._pending_bytes += mark.size_bytes
        self._count_least(mark)
        if self._filled_bytes and self._filled_bytes + self._least_bytes > self._limit_bytes:
            self._closed_bytes = self._filled_bytes
            self._release()
        if self._depth < Kind.PLAIN and self._pending_bytes > self._limit_bytes:
            self._cut_weaker()
        elif self._is_end(mark):
            self._join()
            self._depth = Kind(min(self._depth, mark.kind))

    def _count_least(self, mark: Mark) -> None:
        self._has_word |= mark.kind not in _BLANKS
        is_part = mark.kind == Kind.COMMA < self._least_end and self._pending_bytes <= self._limit_bytes
        if is_part or self._least_end == Kind.PLAIN:
            self._least_bytes = self._pending_bytes
            if self._has_word and mark.kind < Kind.PLAIN:
                self._least_end = mark.kind

    def _is_end(self, mark: Mark) -> bool:
        if self._depth == Kind.PLAIN:
            return mark.kind < Kind.PLAIN or self._pending_bytes >= self._limit_bytes
        return mark.kind <= self._depth

    def _cut_weaker(self) -> None:
        """The piece turned out too long: read its beginning again, cutting at the next weaker places too."""
        self._depth = Kind(self._depth + 1)
        again = self._pending
        self._begin_piece()
        for mark in again:
            self._take(mark)

    def _join(self) -> None:
        """Add the piece to the segment being filled, or begin another one with it."""
        if self._closed_bytes + self._pending_bytes <= self._limit_bytes and self._closed_bytes:
            self._closed_bytes += self._pending_bytes  # blanks behind what has been released
            self._begin_piece()
            return
        self._closed_bytes = 0
        if self._filled_bytes and self._filled_bytes + self._pending_bytes > self._limit_bytes:
            self._release()
        self._filled_bytes += self._pending_bytes
        self._is_blank &= all(mark.kind in _BLANKS for mark in self._pending)
        self._begin_piece()

    def _release(self) -> None:
        """End the segment being filled before the piece that is pending; a blank one becomes part of the next."""
        if not self._is_blank:
            self._cuts.append(self._pending[0].start)
        self._filled_bytes, self._is_blank = 0, True

    def _cut(self) -> list[str]:
        """Take the segments that are known now off the text."""
        segments, start = [], self._offset
        for cut in self._cuts:
            segments.append(self._text[start - self._offset : cut - self._offset])
            start = cut
        if self._cuts:
            self._text, self._offset = self._text[start - self._offset :], start
            self._cuts.clear()
        return segments
