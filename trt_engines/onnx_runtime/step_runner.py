"""Runs the step graph on rows of the batch, shared out over lanes; what was bound once is kept."""

from collections.abc import Sequence

import onnxruntime as ort

from trt_engines.onnx_runtime.bound_run import BoundRun
from trt_engines.onnx_runtime.kv_memory import KvMemory
from trt_engines.onnx_runtime.lanes import Lanes
from trt_engines.onnx_runtime.row_shards import shard_rows
from trt_engines.onnx_runtime.step_memory import StepMemory


class StepRunner:
    """Binds a session to slices of the talker's memory."""

    def __init__(self, session: ort.InferenceSession, kv: KvMemory, memory: StepMemory, lanes: Lanes) -> None:
        self._session = session
        self._kv = kv
        self._memory = memory
        self._lanes = lanes
        self._runs: dict[tuple[int, int], BoundRun] = {}
        self._generation = kv.generation

    def run(self, rows: Sequence[int]) -> None:
        """Run these rows, and idle ones between them, on what the memory holds, in place."""
        if self._generation != self._kv.generation:
            self._runs.clear()
            self._generation = self._kv.generation
        self._lanes.run([self._bound(shard) for shard in shard_rows(sorted(rows), self._lanes.free_count)])

    def _bound(self, rows: slice) -> BoundRun:
        key = (rows.start, rows.stop)
        if key not in self._runs:
            caches = {name: array[rows] for name, array in self._kv.arrays.items()}
            inputs = {name: array[rows] for name, array in self._memory.inputs.items()}
            outputs = {name: array[rows] for name, array in self._memory.outputs.items()}
            updated = {f"{name}_out": array for name, array in caches.items()}
            self._runs[key] = BoundRun(self._session, inputs | caches, outputs | updated)
        return self._runs[key]
