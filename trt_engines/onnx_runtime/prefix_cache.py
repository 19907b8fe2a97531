"""Keys and values of prompt chunks that were prefilled before: a prompt that begins like an earlier one copies them.

The prompts of a voice that speaks from a reference all begin with the same few hundred rows. A chunk is found by every
row from the start of its prompt to its own end, so a hit is exactly what prefilling would have written.
"""

import hashlib
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.onnx_runtime.kv_memory import KvMemory

START = b""
"""The key of a prompt before its first chunk."""


class PrefixCache:
    """Keeps the chunks used last.

    Args:
        kv: The cache of all rows.
        largest_bytes: Keys and values kept at most; 0 keeps none.
    """

    def __init__(self, kv: KvMemory, largest_bytes: int) -> None:
        self._kv = kv
        self._largest_bytes = largest_bytes
        self._bytes = 0
        self._kept: OrderedDict[bytes, list[NDArray[Any]]] = OrderedDict()

    @property
    def is_on(self) -> bool:
        """Whether anything is ever kept."""
        return self._largest_bytes > 0

    @staticmethod
    def key(before: bytes, row_ids: NDArray[np.int32]) -> bytes:
        """Return the key of a chunk, given the key of what came before it in its prompt."""
        return hashlib.blake2b(before + row_ids.tobytes(), digest_size=32).digest()

    def restore(self, key: bytes, row: int, start: int) -> bool:
        """Copy a chunk to a row of the cache, from position `start` on; tell whether it was there."""
        kept = self._kept.get(key)
        if kept is None:
            return False
        self._kept.move_to_end(key)
        self._kv.write(row, start, kept)
        return True

    def store(self, key: bytes, row: int, start: int, row_count: int) -> None:
        """Keep the chunk that was written to a row of the cache from position `start` on."""
        if not self.is_on or key in self._kept:
            return
        chunk = self._kv.read(row, start, row_count)
        self._kept[key] = chunk
        self._bytes += _byte_count(chunk)
        while self._bytes > self._largest_bytes:
            self._bytes -= _byte_count(self._kept.popitem(last=False)[1])


def _byte_count(chunk: list[NDArray[Any]]) -> int:
    return sum(array.nbytes for array in chunk)
