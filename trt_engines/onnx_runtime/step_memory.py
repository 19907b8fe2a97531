"""Everything but the KV cache that the step graph reads and writes, one row of each array per row of the batch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.graph_tensors import TensorSpec, cache_tensors, step_tensors
from trt_engines.manifest import Manifest
from trt_engines.onnx_runtime.bound_run import aligned_zeros


class StepMemory:
    """Owns the arrays.

    Attributes:
        inputs: Array of each input by name: next row, position, prompt, parameters, random numbers, states.
        outputs: Array of each output by name.
    """

    def __init__(self, manifest: Manifest, row_count: int) -> None:
        spec = step_tensors(manifest)
        caches = {tensor.name for suffix in ("", "_out") for tensor in cache_tensors(manifest, suffix)}
        sizes = {"B": row_count, "P": manifest.max_positions}
        self.inputs = {tensor.name: _zeros(tensor, sizes) for tensor in spec.inputs if tensor.name not in caches}
        self.outputs = {tensor.name: _zeros(tensor, sizes) for tensor in spec.outputs if tensor.name not in caches}
        self._last_position = manifest.max_positions - 1
        self._kept = {"row_ids": "next_row_ids"} | {state.name: f"{state.name}_out" for state in manifest.state}

    def move_row(self, source: int, target: int) -> None:
        """Copy one row of every input over another."""
        for array in self.inputs.values():
            array[target] = array[source]

    def clear_row(self, row: int) -> None:
        """Zero one row of every input."""
        for array in self.inputs.values():
            array[row] = 0

    def set_prompt(self, row: int, row_ids: NDArray[np.int32], start: int, end: int) -> None:
        """Note the prompt rows int32 [rows, columns] of a chunk, of which positions start..end-1 are in the cache."""
        if "prompt" in self.inputs:
            self.inputs["prompt"][row, start:end] = row_ids[: end - start, 0]
            self.inputs["prompt_count"][row] = end
        self.inputs["row_ids"][row] = row_ids[-1]
        self.inputs["position"][row] = min(end, self._last_position)

    def advance(self, rows: NDArray[np.int32]) -> None:
        """Make what these rows have put out the input of their next step."""
        for name, output in self._kept.items():
            self.inputs[name][rows] = self.outputs[output][rows]
        # A full row stays where it is: it may run once more as an idle one.
        self.inputs["position"][rows] = np.minimum(self.inputs["position"][rows] + 1, self._last_position)

    def are_finite(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell for each of these rows whether all of its float outputs are finite."""
        finite = np.ones(len(rows), np.bool_)
        for array in self.outputs.values():
            if array.dtype.kind == "f":
                finite &= np.isfinite(array[rows]).reshape(len(rows), -1).all(1)
        return finite


def _zeros(tensor: TensorSpec, sizes: dict[str, int]) -> NDArray[Any]:
    shape = tuple(size if isinstance(size, int) else sizes[size] for size in tensor.shape)
    return aligned_zeros(shape, tensor.dtype)
