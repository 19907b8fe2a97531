"""Writes prompt rows into a slot's caches, one slot at a time, in the order of the stream."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trt_engines.tensorrt.block_layout import BlockField, BlockLayout
from trt_engines.tensorrt.buckets import covering
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.plan_manifest import PlanProfile
from trt_engines.tensorrt.plan_session import PlanContext, PlanSession
from trt_engines.tensorrt.talker_memory import TalkerMemory

_STAGE_COUNT = 4


@dataclass(frozen=True)
class PromptPart:
    """Consecutive prompt rows for one row of the batch.

    Attributes:
        row: row of the batch.
        row_ids: int32 [rows, columns] to write; may be empty.
        start: position of the first of them.
        before: int32 [start, columns], the prompt so far.
        first_input: int32 [columns], the first step's input, if the prompt ends here.
    """

    row: int
    row_ids: NDArray[np.int32]
    start: int
    before: NDArray[np.int32]
    first_input: NDArray[np.int32] | None

    @property
    def end(self) -> int:
        """The position behind the rows."""
        return self.start + len(self.row_ids)


class PrefillRunner:
    """Runs the `prefill` plan with the caches of one row bound in place of a whole batch.

    A row's position is moved behind the chunk before the chunk is run: until the prompt is complete, steps of other
    rows run this one idly and write to its position, which must be one that the prompt or the first step overwrites.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        session: PlanSession,
        profiles: Sequence[PlanProfile],
        tensors: TalkerMemory,
        workspace: tuple[int, int],
        stream: int,
    ) -> None:
        self._driver = memory.driver
        self._stream = stream
        self._tensors = tensors
        (self._columns,) = tensors.tensors["row_ids"].shape
        self._position_count = tensors.tensors[tensors.cache_names[0]].shape[1]
        longest = profiles[-1].steps
        integer = np.int32
        self._inputs = BlockLayout({
            "row_ids": BlockField(integer, (longest, self._columns)),
            "row_count": BlockField(integer, (1,)),
            "position": BlockField(integer, (1,)),
        })  # fmt: skip
        self._staged = BlockLayout(self._inputs.fields | {
            "prompt": BlockField(integer, (longest,)),
            "next_position": BlockField(integer, (1,)),
            "first_input": BlockField(integer, (self._columns,)),
        })  # fmt: skip
        self._inputs_address = memory.zeros(self._inputs.byte_count, stream)
        self._stages = [memory.pinned(self._staged.byte_count) for _ in range(_STAGE_COUNT)]
        self._events = [memory.event() for _ in range(_STAGE_COUNT)]
        self._chunk_count = 0
        self._contexts = {
            profile.steps: self._open(session, index, profile, workspace) for index, profile in enumerate(profiles)
        }
        for context in self._contexts.values():
            memory.on_close(context.close)
            context.run(stream)

    def _open(self, session: PlanSession, index: int, profile: PlanProfile, workspace: tuple[int, int]) -> PlanContext:
        names = self._tensors.cache_names
        shapes = {name: (1, *self._tensors.tensors[name].shape) for name in names}
        shapes |= {"row_ids": (1, profile.steps, self._columns), "row_count": (1,), "position": (1,)}
        addresses = {end: self._tensors.addresses[end] for name in names for end in (name, f"{name}_out")}
        addresses |= self._inputs.addresses(self._inputs_address)
        return session.open_context(index, shapes, addresses, workspace, self._stream)

    def run(self, part: PromptPart) -> None:
        """Put the writing of one part on the stream."""
        stage = self._chunk_count % _STAGE_COUNT
        self._driver.wait(self._events[stage])  # the GPU may still be reading what was staged here before
        self._chunk_count += 1
        host = self._staged.views(self._stages[stage])
        host["next_position"][0] = part.end
        self._driver.upload(self._tensors.row_address("position", part.row), host["next_position"], self._stream)
        if len(part.row_ids):
            self._write_rows(part, host, self._stages[stage])
        if part.first_input is not None:
            self._finish(part.row, part.first_input, host)
        self._driver.record(self._events[stage], self._stream)

    def _write_rows(self, part: PromptPart, host: dict[str, NDArray[np.int32]], block: NDArray[np.uint8]) -> None:
        count = len(part.row_ids)
        if "prompt" in self._tensors.tensors:
            host["prompt"][:count] = part.row_ids[:, 0]
            address = self._tensors.row_address("prompt", part.row) + part.start * host["prompt"].itemsize
            self._driver.upload(address, host["prompt"][:count], self._stream)
        bucket = covering(tuple(self._contexts), count)
        # A run writes as many positions as its bucket has. At the end of the cache it starts earlier, with rows again
        # that are there already.
        again = max(0, part.start + bucket - self._position_count)
        rows = np.concatenate([part.before[len(part.before) - again :], part.row_ids])
        host["row_ids"][:] = 0
        host["row_ids"][: len(rows)] = rows
        host["row_count"][0], host["position"][0] = len(rows), part.start - again
        self._driver.upload(self._inputs_address, block[: self._inputs.byte_count], self._stream)
        context = self._contexts[bucket]
        for name in self._tensors.cache_names:
            address = self._tensors.row_address(name, part.row)
            context.bind(name, address)
            context.bind(f"{name}_out", address)
        context.run(self._stream)

    def _finish(self, row: int, first_input: NDArray[np.int32], host: dict[str, NDArray[np.int32]]) -> None:
        """Leave everything as the first step wants it."""
        if "prompt_count" in self._tensors.tensors:
            address = self._tensors.row_address("prompt_count", row)
            self._driver.upload(address, host["next_position"], self._stream)
        host["first_input"][:] = first_input
        self._driver.upload(self._tensors.row_address("row_ids", row), host["first_input"], self._stream)
