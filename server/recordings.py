"""Recordings while they arrive and until they are voices: bounded in bytes, each one and all of them together."""

import contextlib
from collections.abc import Iterator

from server.errors import OutOfRangeError, ServerFullError

_PART_BYTES = 1 << 20
_RETRY_S = 5.0


class Recordings:
    """Counts what all calls hold. Lives on the event loop.

    Args:
        max_bytes: Of one recording.
        max_total_bytes: Of all that arrive or are being encoded.
    """

    def __init__(self, max_bytes: int, max_total_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._max_total_bytes = max_total_bytes
        self._held_bytes = 0

    @contextlib.contextmanager
    def begin(self) -> Iterator["Recording"]:
        """Hold a recording until the end of the block."""
        recording = Recording(self)
        try:
            yield recording
        finally:
            self._held_bytes -= len(recording.content)

    def hold(self, more_bytes: int) -> None:
        """Make room, for `Recording` only.

        Raises:
            ServerFullError: Other recordings take it.
        """
        if self._held_bytes + more_bytes > self._max_total_bytes:
            raise ServerFullError("Too many recordings are being made into voices; send it again later.", _RETRY_S)
        self._held_bytes += more_bytes


class Recording:
    """One recording that arrives in parts; made by `Recordings.begin`.

    Attributes:
        content: What has come.
    """

    def __init__(self, recordings: Recordings) -> None:
        self.content = bytearray()
        self._recordings = recordings

    def add(self, part: bytes) -> None:
        """Take the next part.

        Raises:
            OutOfRangeError: The part, or all parts together, are too large.
            ServerFullError: Other recordings take the room.
        """
        total_bytes = len(self.content) + len(part)
        if len(part) > _PART_BYTES or total_bytes > self._recordings.max_bytes:
            raise OutOfRangeError(
                f"The recording came in a part of {len(part)} bytes and has {total_bytes} so far; a part may have "
                f"{_PART_BYTES} and a recording {self._recordings.max_bytes}.",
                "audio",
            )
        self._recordings.hold(len(part))
        self.content += part
