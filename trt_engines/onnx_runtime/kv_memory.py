"""The KV cache of every row: one array per layer and half, updated in place by the graphs.

Arrays are [rows, heads, capacity, head_dim]. The capacity follows the longest row in quanta, because a step attends to
all of it: a fixed one would make short contexts three times slower. What lies behind the end of a row is left over from
others and invisible; it only has to be finite, since a weight of zero times NaN is NaN.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.graph_tensors import cache_tensors
from trt_engines.manifest import Manifest
from trt_engines.onnx_runtime.bound_run import aligned_zeros

# Attention to 64 positions more costs 32 rows of the default voice 1.6 ms a step; growing costs them about 6 ms, once.
# A multiple of 64 leaves the order of every sum as it is, so that results do not depend on the capacity.
QUANTUM_POSITIONS = 64
SHRINK_AFTER_STEPS = 200


class KvMemory:
    """Owns the cache arrays.

    Attributes:
        arrays: The array of each cache input by name; replaced when the capacity changes.
        capacity: Positions that each row has room for.
        generation: Counts the changes of capacity, so that what is bound to old arrays can be told.
    """

    def __init__(self, manifest: Manifest, row_count: int) -> None:
        self._tensors = cache_tensors(manifest, "")
        self._row_count = row_count
        self._roomy_steps = 0
        self.capacity = QUANTUM_POSITIONS
        self.generation = 0
        self.arrays: dict[str, NDArray[Any]] = {tensor.name: self._zeros(tensor.name) for tensor in self._tensors}

    def fit(self, longest: int, row_count: int) -> None:
        """Make room for `longest` positions in the first `row_count` rows, or give up room long not needed."""
        wanted = max(1, -(-longest // QUANTUM_POSITIONS)) * QUANTUM_POSITIONS
        self._roomy_steps = self._roomy_steps + 1 if wanted <= self.capacity // 2 else 0
        if wanted > self.capacity or self._roomy_steps > SHRINK_AFTER_STEPS:
            self._resize(wanted, row_count)

    def move_row(self, source: int, target: int) -> None:
        """Copy one row over another."""
        for array in self.arrays.values():
            array[target] = array[source]

    def clear_row(self, row: int) -> None:
        """Zero one row."""
        for array in self.arrays.values():
            array[row] = 0

    def read(self, row: int, start: int, count: int) -> list[NDArray[Any]]:
        """Return copies of some positions of one row, an array [heads, count, head_dim] for each cache input."""
        return [array[row, :, start : start + count].copy() for array in self.arrays.values()]

    def write(self, row: int, start: int, values: list[NDArray[Any]]) -> None:
        """Put what `read` gave to a row, from position `start` on."""
        for array, value in zip(self.arrays.values(), values, strict=True):
            array[row, :, start : start + value.shape[1]] = value

    def are_finite(self, rows: NDArray[np.int32], positions: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell for each pair of row and position whether what was written there last is finite.

        The values of the last layer are looked at: whatever goes wrong in a layer below shows there.
        """
        written = self.arrays[self._tensors[-1].name][rows, :, positions]
        finite: NDArray[np.bool_] = np.isfinite(written).all((1, 2))
        return finite

    def _resize(self, capacity: int, row_count: int) -> None:
        kept = min(capacity, self.capacity)
        self.capacity, self._roomy_steps = capacity, 0
        self.generation += 1
        for name, old in self.arrays.items():
            new = self._zeros(name)
            new[:row_count, :, :kept] = old[:row_count, :, :kept]
            self.arrays[name] = new

    def _zeros(self, name: str) -> NDArray[Any]:
        tensor = next(tensor for tensor in self._tensors if tensor.name == name)
        heads, head_dim = int(tensor.shape[1]), int(tensor.shape[3])
        return aligned_zeros((self._row_count, heads, self.capacity, head_dim), tensor.dtype)
