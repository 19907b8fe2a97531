"""Runs the prefill graph: prompt parts of neighboring rows in one run, the runs shared out over lanes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from trt_engines.manifest import Manifest
from trt_engines.onnx_runtime.bound_run import BoundRun, aligned_zeros
from trt_engines.onnx_runtime.kv_memory import KvMemory
from trt_engines.onnx_runtime.lanes import Lanes

QUANTUM_ROWS = 8


@dataclass(frozen=True)
class PromptPart:
    """Prompt rows int32 [rows, columns] to be written to a row of the cache, from position `start` on."""

    row: int
    row_ids: NDArray[np.int32]
    start: int

    @property
    def row_count(self) -> int:
        """Number of prompt rows, perhaps none."""
        return len(self.row_ids)


class PrefillRunner:
    """Runs prompt parts that neighbor each other in the cache, and are about equally long, as one batch."""

    def __init__(self, session: ort.InferenceSession, kv: KvMemory, manifest: Manifest, lanes: Lanes) -> None:
        self._session = session
        self._kv = kv
        self._max_positions = manifest.max_positions
        self._columns = len(manifest.row.columns)
        self._lanes = lanes

    def end(self, part: PromptPart) -> int:
        """Return the position behind everything that a run of this part writes, padding included."""
        return part.start + self._padded_count(part)

    def run(self, parts: Sequence[PromptPart]) -> None:
        """Write all parts; the cache must have room up to their `end`."""
        self._lanes.run([self._bound(batch) for batch in self._batches(parts)])

    def _batches(self, parts: Sequence[PromptPart]) -> list[list[PromptPart]]:
        """Group neighbors of the same padded length, in so many batches that every free lane gets its share."""
        largest = -(-len(parts) // self._lanes.free_count)
        batches: list[list[PromptPart]] = []
        for part in sorted(parts, key=lambda part: part.row):
            if batches and len(batches[-1]) < largest and self._go_together(batches[-1][-1], part):
                batches[-1].append(part)
            else:
                batches.append([part])
        return batches

    def _go_together(self, part: PromptPart, following: PromptPart) -> bool:
        is_neighbor = following.row == part.row + 1
        return is_neighbor and self._padded_count(part) == self._padded_count(following)

    def _padded_count(self, part: PromptPart) -> int:
        """Round up, so that few shapes occur, but not beyond the positions that the graph knows."""
        rounded = -(-part.row_count // QUANTUM_ROWS) * QUANTUM_ROWS
        return min(rounded, self._max_positions - part.start)

    def _bound(self, batch: Sequence[PromptPart]) -> BoundRun:
        row_ids = aligned_zeros((len(batch), self._padded_count(batch[0]), self._columns), "int32")
        for ids, part in zip(row_ids, batch, strict=True):
            ids[: part.row_count] = part.row_ids
        rows = slice(batch[0].row, batch[-1].row + 1)
        caches = {name: array[rows] for name, array in self._kv.arrays.items()}
        inputs = {
            "row_ids": row_ids,
            "row_count": np.array([part.row_count for part in batch], np.int32),
            "position": np.array([part.start for part in batch], np.int32),
        }
        return BoundRun(self._session, inputs | caches, {f"{name}_out": array for name, array in caches.items()})
