"""The talker on TensorRT: prompts go into caches on the GPU, steps follow one another without the host in between."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import PrefillChunk, StepFrame, StepRequest
from trt_engines.cuda.driver import CudaDriver
from trt_engines.errors import EngineError, SlotError
from trt_engines.manifest import Manifest
from trt_engines.talker_requests import check_chunk, check_distinct, check_request, not_finite, out_of_positions
from trt_engines.tensorrt.prefill_runner import PrefillRunner, PromptPart
from trt_engines.tensorrt.step_loop import RowFrame, StepLoop
from trt_engines.tensorrt.talker_memory import TalkerMemory


@dataclass
class _Slot:
    """What is known of a slot.

    Attributes:
        row: its row of the batch.
        prompt: int32 [rows, columns], what has been prefilled.
        length: positions that its prompt and the frames handed out have filled.
        is_ready: whether its prompt is complete.
        voice: seed and parameters, once it has been stepped.
        next_index: step index that its next request must have.
        error: why it cannot go on.
    """

    row: int
    prompt: NDArray[np.int32]
    length: int = 0
    is_ready: bool = False
    voice: tuple[int, tuple[float, ...]] | None = None
    next_index: int = 0
    error: SlotError | None = None


class TensorrtTalker:
    """A `Talker`; see there. A slot keeps the seed and the parameters of its first step.

    Attributes:
        uncaptured_buckets: batch sizes whose work could not become a CUDA graph.
    """

    def __init__(
        self,
        manifest: Manifest,
        slot_count: int,
        driver: CudaDriver,
        tensors: TalkerMemory,
        prefill: PrefillRunner,
        loop: StepLoop,
        stream: int,
        uncaptured_buckets: tuple[int, ...] = (),
    ) -> None:
        self.uncaptured_buckets = uncaptured_buckets
        self._manifest = manifest
        self._slot_count = slot_count
        self._driver = driver
        self._tensors = tensors
        self._prefill = prefill
        self._loop = loop
        self._stream = stream
        self._slots: dict[int, _Slot] = {}
        self._free_rows = set(range(tensors.row_count))

    @property
    def slot_count(self) -> int:
        """Number of slots."""
        return self._slot_count

    def prefill(self, chunks: Sequence[PrefillChunk]) -> None:
        """Write prompt rows into the cache; at most one chunk per slot in a call. Returns before the GPU is done.

        Raises:
            EngineError: A chunk does not fit its slot or the manifest; nothing was written.
        """
        check_distinct([chunk.slot for chunk in chunks])
        for chunk in chunks:
            held = self._slots[chunk.slot].length if chunk.slot in self._slots else 0
            check_chunk(chunk, self._manifest, self.slot_count, held)
        with self._driver.attached():
            for chunk in chunks:
                if chunk.start == 0:
                    self._enter(chunk.slot)
                self._write(self._slots[chunk.slot], chunk)

    def step(self, requests: Sequence[StepRequest]) -> list[StepFrame | SlotError]:
        """Make one frame for each of these slots; at most one request per slot in a call.

        Raises:
            EngineError: A slot has no complete prompt, or a request does not continue its slot; nothing was run.
        """
        check_distinct([request.slot for request in requests])
        for request in requests:
            self._check(request)
        running = [request for request in requests if self._obstacle(request.slot) is None]
        with self._driver.attached():
            for request in running:
                self._begin(request)
            frames = self._loop.advance([self._slots[request.slot].row for request in running])
            handed_out = map(self._handed_out, running, frames)
            made = {request.slot: frame for request, frame in zip(running, handed_out, strict=True)}
        return [made.get(request.slot) or self._failed(request.slot) for request in requests]

    def cache(self, slot: int, name: str) -> NDArray[Any]:
        """Return what the GPU holds of one cache of a slot, [heads, positions, head dim]; for tests of the engine."""
        tensor, row = self._tensors.tensors[name], self._slots[slot].row
        with self._driver.attached():
            block = self._driver.allocate_pinned(tensor.row_bytes)
            self._driver.download(block, self._tensors.row_address(name, row), self._stream)
            self._driver.synchronize(self._stream)
            held = block.view(np.dtype(tensor.dtype)).reshape(tensor.shape).copy()
            self._driver.free_pinned(block)
        return held

    def clear_cache(self, slot: int) -> None:
        """Fill the caches of a slot with zeros; for tests of the engine."""
        with self._driver.attached():
            self._clear_caches(self._slots[slot].row)

    def release(self, slot: int) -> None:
        """Forget a slot, finished or not."""
        known = self._slots.pop(slot, None)
        if known is not None:
            self._loop.end(known.row)
            self._free_rows.add(known.row)

    def close(self) -> None:
        """Stop stepping and wait for the GPU."""
        with self._driver.attached():
            self._loop.close()

    def _enter(self, slot: int) -> None:
        """Give a slot the lowest free row, so that batches stay small, with its sampler state at zero."""
        self.release(slot)
        row = min(self._free_rows)
        self._free_rows.remove(row)
        self._loop.settle(row)
        for state in self._manifest.state:
            byte_count = self._tensors.tensors[state.name].row_bytes
            self._driver.clear(self._tensors.row_address(state.name, row), byte_count, self._stream)
        self._slots[slot] = _Slot(row, np.zeros((0, len(self._manifest.row.columns)), np.int32))

    def _write(self, slot: _Slot, chunk: PrefillChunk) -> None:
        rows = chunk.row_ids[:-1] if chunk.is_last else chunk.row_ids
        first_input = chunk.row_ids[-1] if chunk.is_last else None
        part = PromptPart(slot.row, rows, chunk.start, slot.prompt, first_input)
        self._prefill.run(part)
        slot.prompt = np.concatenate([slot.prompt, rows])
        slot.length, slot.is_ready = part.end, chunk.is_last

    def _check(self, request: StepRequest) -> None:
        slot = self._slots.get(request.slot)
        check_request(request, self._manifest, is_ready=slot is not None and slot.is_ready)
        if slot is None or slot.voice is None:
            return
        if slot.voice != (request.seed, request.params) or slot.next_index != request.step_index:
            raise EngineError(
                f"Slot {request.slot} was asked for step {request.step_index} but is at {slot.next_index}, with the "
                "seed and parameters of its first step; go on in order, or prefill the slot anew to change them."
            )

    def _begin(self, request: StepRequest) -> None:
        slot = self._slots[request.slot]
        if slot.voice is None:
            slot.voice, slot.next_index = (request.seed, request.params), request.step_index
            room = self._manifest.max_positions - slot.length
            self._loop.begin(slot.row, request.seed, request.params, request.step_index, room)

    def _obstacle(self, slot: int) -> SlotError | None:
        """Say why a slot cannot go on, if so."""
        known = self._slots[slot]
        if known.error is None and known.length >= self._manifest.max_positions:
            known.error = out_of_positions(slot, self._manifest)
        return known.error

    def _failed(self, slot: int) -> SlotError:
        error = self._slots[slot].error
        return error if error is not None else not_finite(slot)

    def _handed_out(self, request: StepRequest, made: RowFrame) -> StepFrame | None:
        """Turn a row's frame into the slot's, or note that the slot has failed."""
        slot, column = self._slots[request.slot], self._manifest.row.pointer_column
        slot.length += 1
        slot.next_index += 1
        if not made.finite:
            slot.error = not_finite(request.slot)
            self._loop.end(slot.row)
            self._clear_caches(slot.row)
            return None
        pointer = -1 if column is None else int(made.row_ids[column])
        return StepFrame(request.slot, made.frame, made.emit, made.done, pointer)

    def _clear_caches(self, row: int) -> None:
        """Remove what is not a number, which would spoil the next prompt of this row even where it is masked.

        The row is still run idly with its neighbors, so its input goes as well: it might make such a number again.
        """
        self._loop.settle(row)
        for name in (*self._tensors.cache_names, "row_ids", "position"):
            byte_count = self._tensors.tensors[name].row_bytes
            self._driver.clear(self._tensors.row_address(name, row), byte_count, self._stream)
