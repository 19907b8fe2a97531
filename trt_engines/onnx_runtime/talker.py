"""The talker on ONNX Runtime: one batch of rows, joined and left between two steps, one run per lane and step.

Occupied rows are always the first ones. A step runs the rows from the lowest to the highest that was asked for; a row
between them that was not is run as well and its result dropped, which changes nothing: it only writes the same keys
and values to the same place again, or to a place that its prompt will fill.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import PrefillChunk, StepFrame, StepRequest
from trt_engines.errors import SlotError
from trt_engines.graph_tensors import prefill_tensors, step_tensors
from trt_engines.manifest import Manifest
from trt_engines.onnx_runtime.kv_memory import KvMemory
from trt_engines.onnx_runtime.lanes import Lanes
from trt_engines.onnx_runtime.prefill_runner import PrefillRunner, PromptPart
from trt_engines.onnx_runtime.prefix_cache import START, PrefixCache
from trt_engines.onnx_runtime.session import open_session
from trt_engines.onnx_runtime.step_memory import StepMemory
from trt_engines.onnx_runtime.step_runner import StepRunner
from trt_engines.randomness import uniform
from trt_engines.slot_rows import SlotRows
from trt_engines.talker_requests import check_chunk, check_distinct, check_request, not_finite, out_of_positions


@dataclass
class _Slot:
    """What is known of a slot beside its row."""

    length: int = 0
    is_ready: bool = False
    has_failed: bool = False
    prefix: bytes = START


class OrtTalker:
    """A `Talker`; see there."""

    def __init__(
        self, bundle_dir: Path, manifest: Manifest, slot_count: int, lanes: Lanes, prefix_cache_bytes: int = 0
    ) -> None:
        self._manifest = manifest
        self._slot_count = slot_count
        self._rows = SlotRows()
        self._slots: dict[int, _Slot] = {}
        self._kv = KvMemory(manifest, slot_count)
        self._memory = StepMemory(manifest, slot_count)
        self._prefixes = PrefixCache(self._kv, prefix_cache_bytes)
        prefill = open_session(bundle_dir, manifest.prefill.graph, manifest, prefill_tensors, lanes.pool_threads)
        step = open_session(bundle_dir, manifest.step.graph, manifest, step_tensors, lanes.pool_threads)
        self._prefill = PrefillRunner(prefill, self._kv, manifest, lanes)
        self._step = StepRunner(step, self._kv, self._memory, lanes)

    @property
    def slot_count(self) -> int:
        """Number of slots."""
        return self._slot_count

    @property
    def cache_capacity(self) -> int:
        """Positions that every row of the cache has room for at present."""
        return self._kv.capacity

    def prefill(self, chunks: Sequence[PrefillChunk]) -> None:
        """Write prompt rows into the cache; at most one chunk per slot in a call.

        Raises:
            EngineError: A chunk does not fit its slot or the manifest; nothing was written.
        """
        check_distinct([chunk.slot for chunk in chunks])
        for chunk in chunks:
            held = self._slots.get(chunk.slot, _Slot())
            check_chunk(chunk, self._manifest, self._slot_count, held.length)
        if not chunks:
            return
        for chunk in chunks:
            if chunk.start == 0:
                self._enter(chunk.slot)
        parts = [PromptPart(self._rows[chunk.slot], _rows_to_write(chunk), chunk.start) for chunk in chunks]
        self._kv.fit(max([self._longest(), *map(self._prefill.end, parts)]), len(self._rows))
        known = [self._restore(chunk, part) for chunk, part in zip(chunks, parts, strict=True)]
        self._prefill.run(
            [part for part, is_known in zip(parts, known, strict=True) if part.row_count and not is_known]
        )
        for chunk, part in zip(chunks, parts, strict=True):
            self._finish(chunk, part)

    def step(self, requests: Sequence[StepRequest]) -> list[StepFrame | SlotError]:
        """Make one frame for each of these slots; at most one request per slot in a call.

        Raises:
            EngineError: A slot has no complete prompt or the parameters are of the wrong number; nothing was run.
        """
        check_distinct([request.slot for request in requests])
        results: dict[int, StepFrame | SlotError] = {}
        running = []
        for request in requests:
            slot = self._slots.get(request.slot, _Slot())
            check_request(request, self._manifest, is_ready=slot.is_ready)
            if (error := self._obstacle(request.slot)) is None:
                running.append(request)
            else:
                results[request.slot] = error
        if running:
            results |= self._run(running)
        return [results[request.slot] for request in requests]

    def release(self, slot: int) -> None:
        """Forget a slot, finished or not; the last row moves into its place."""
        if slot not in self._rows:
            return
        if self._slots.pop(slot).has_failed:
            self._kv.clear_row(self._rows[slot])
        move = self._rows.release(slot)
        if move is not None:
            self._kv.move_row(move.source, move.target)
            self._memory.move_row(move.source, move.target)

    def _enter(self, slot: int) -> None:
        """Give a slot a clean row."""
        self.release(slot)
        self._memory.clear_row(self._rows.occupy(slot))
        self._slots[slot] = _Slot()

    def _restore(self, chunk: PrefillChunk, part: PromptPart) -> bool:
        """Copy what an earlier prompt that began alike has put into the cache; tell whether there was one."""
        if not self._prefixes.is_on or chunk.is_last:  # the end of a prompt is never that of another
            return False
        slot = self._slots[chunk.slot]
        slot.prefix = self._prefixes.key(slot.prefix, part.row_ids)
        return self._prefixes.restore(slot.prefix, part.row, part.start)

    def _finish(self, chunk: PrefillChunk, part: PromptPart) -> None:
        """Note what a chunk has put into the cache."""
        slot, end = self._slots[chunk.slot], part.start + part.row_count
        slot.length = end
        self._memory.set_prompt(part.row, chunk.row_ids, part.start, end)
        if chunk.is_last:
            slot.is_ready = True
        written = np.arange(part.start, end, dtype=np.int32)
        slot.has_failed |= not self._kv.are_finite(np.full_like(written, part.row), written).all()
        if not chunk.is_last and not slot.has_failed:
            self._prefixes.store(slot.prefix, part.row, part.start, part.row_count)

    def _obstacle(self, slot: int) -> SlotError | None:
        """Say why a slot cannot go on, if so."""
        if self._slots[slot].has_failed:
            return not_finite(slot)
        is_full = self._slots[slot].length >= self._manifest.max_positions
        return out_of_positions(slot, self._manifest) if is_full else None

    def _longest(self) -> int:
        """Positions that the longest row needs for its next step."""
        return max(slot.length for slot in self._slots.values()) + 1

    def _run(self, requests: Sequence[StepRequest]) -> dict[int, StepFrame | SlotError]:
        rows = np.array([self._rows[request.slot] for request in requests], np.int32)
        self._fill_inputs(requests, rows)
        self._kv.fit(self._longest(), len(self._rows))
        self._step.run(rows.tolist())
        results = self._results(requests, rows)
        self._memory.advance(rows)
        for request in requests:
            self._slots[request.slot].length += 1
        return results

    def _fill_inputs(self, requests: Sequence[StepRequest], rows: NDArray[np.int32]) -> None:
        inputs = self._memory.inputs
        if "params" in inputs:
            inputs["params"][rows] = [request.params for request in requests]
        if "random" in inputs:
            seeds, indices = [request.seed for request in requests], [request.step_index for request in requests]
            inputs["random"][rows] = uniform(seeds, indices, inputs["random"].shape[1])
        if "active" in inputs:
            inputs["active"][:] = False
            inputs["active"][rows] = True

    def _results(self, requests: Sequence[StepRequest], rows: NDArray[np.int32]) -> dict[int, StepFrame | SlotError]:
        outputs, results = self._memory.outputs, dict[int, StepFrame | SlotError]()
        finite = self._memory.are_finite(rows) & self._kv.are_finite(rows, self._memory.inputs["position"][rows])
        frames, column = outputs["frame"][rows], self._manifest.row.pointer_column
        pointers = np.full(len(rows), -1) if column is None else outputs["next_row_ids"][rows, column]
        emits, dones = outputs["emit"][rows].tolist(), outputs["done"][rows].tolist()
        for i, request in enumerate(requests):
            if finite[i]:
                results[request.slot] = StepFrame(request.slot, frames[i], emits[i], dones[i], int(pointers[i]))
            else:
                self._slots[request.slot].has_failed = True
                results[request.slot] = not_finite(request.slot)
        return results


def _rows_to_write(chunk: PrefillChunk) -> NDArray[np.int32]:
    """All rows of a chunk but the one that is the first step's input."""
    return chunk.row_ids[:-1] if chunk.is_last else chunk.row_ids
