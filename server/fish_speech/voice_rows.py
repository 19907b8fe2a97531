"""The rows that every prompt of a voice begins with, read once and kept for the voices used last."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from server.fish_speech.prompt import PromptBuilder, Rows
from server.fish_speech.voice_prompt import read_references

_LARGEST_BYTES = 64 << 20


class VoiceRows:
    """A cache of voices, bounded in bytes. Safe to use from several threads.

    A voice whose file was replaced is read anew. One whose file is gone stays as it was for as long as it is cached,
    so that what is being spoken keeps its voice when somebody deletes it.

    Args:
        builder: Makes the rows.
        find: Returns where the references of a voice lie, by its name.
        largest_bytes: Rows kept at most.
    """

    def __init__(
        self, builder: PromptBuilder, find: Callable[[str], Path], largest_bytes: int = _LARGEST_BYTES
    ) -> None:
        self._builder = builder
        self._find = find
        self._largest_bytes = largest_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[int | None, Rows]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, name: str) -> Rows:
        """Return the rows of a voice.

        Raises:
            ManifestError: Its references cannot be read.
        """
        path = self._find(name)
        with self._lock:
            stamp = _stamp(path)
            kept = self._kept.get(name)
            if kept is not None and stamp in (None, kept[0]):
                self._kept.move_to_end(name)
                return kept[1]
            rows = self._builder.voice(read_references(path, self._builder.codebook_count))
            self._keep(name, stamp, rows)
            return rows

    def _keep(self, name: str, stamp: int | None, rows: Rows) -> None:
        replaced = self._kept.pop(name, None)
        self._bytes += rows.nbytes - (replaced[1].nbytes if replaced else 0)
        self._kept[name] = (stamp, rows)
        while self._bytes > self._largest_bytes and len(self._kept) > 1:
            _, (_, dropped) = self._kept.popitem(last=False)
            self._bytes -= dropped.nbytes


def _stamp(path: Path) -> int | None:
    """Return what changes when a file is replaced, or None when it is not there."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
