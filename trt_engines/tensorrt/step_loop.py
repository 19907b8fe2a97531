"""Stepping rows ahead of those who ask: while frame N is being handed out, the GPU makes frame N+1."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trt_engines.randomness import uniform
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.step_runner import StepRunner
from trt_engines.tensorrt.talker_memory import TalkerMemory

_BLOCK_COUNT = 2


@dataclass(frozen=True)
class RowFrame:
    """What a step made for one row.

    Attributes:
        frame: [frame width].
        emit, done: as in `StepFrame`.
        finite: whether the numbers behind it are.
        row_ids: int32 [columns], the row that the next step takes.
    """

    frame: NDArray[Any]
    emit: bool
    done: bool
    finite: bool
    row_ids: NDArray[np.int32]


class StepLoop(Protocol):
    """Makes frames for rows whose prompt is on the device. Used from one thread."""

    def begin(self, row: int, seed: int, params: Sequence[float], first_index: int, step_count: int) -> None:
        """Make a row ready: its random numbers, its parameters, and how many steps its cache has room for."""
        ...

    def advance(self, rows: Sequence[int]) -> list[RowFrame]:
        """Return the next frame of each row, in this order; waits for those that are not made yet."""
        ...

    def end(self, row: int) -> None:
        """Stop a row; frames made ahead are dropped. Its memory may still be written until `settle`."""
        ...

    def settle(self, row: int) -> None:
        """Wait until no step for an ended row can be put on the stream any more."""
        ...

    def close(self) -> None:
        """Stop everything, and wait for the GPU."""
        ...


@dataclass
class _Row:
    seed: int
    params: tuple[float, ...]
    next_index: int
    end_index: int
    frames: deque[RowFrame] = field(default_factory=deque)
    in_flight: int = 0
    is_done: bool = False

    @property
    def has_room(self) -> bool:
        return self.next_index < self.end_index


@dataclass(frozen=True)
class _Run:
    """A step on the stream, and the rows that it is for; they may have ended since."""

    block: int
    rows: tuple[tuple[int, _Row], ...]


class PythonStepLoop:
    """A `StepLoop` that runs one step ahead, in the caller's own thread.

    A row that was stepped before has its frame made, or under way, by the time it is asked for again: the step after
    that is put on the stream first, and only then is the frame read. Pinned blocks alternate, so that the host fills
    one while the GPU reads the other.
    """

    def __init__(self, memory: DeviceMemory, runner: StepRunner, tensors: TalkerMemory, stream: int) -> None:
        self._driver = memory.driver
        self._runner = runner
        self._stream = stream
        self._tensors = tensors
        self._uploads = [memory.pinned(tensors.uploaded.byte_count) for _ in range(_BLOCK_COUNT)]
        self._downloads = [memory.pinned(tensors.downloaded.byte_count) for _ in range(_BLOCK_COUNT)]
        self._inputs = [tensors.uploaded.views(block) for block in self._uploads]
        self._outputs = [tensors.downloaded.views(block) for block in self._downloads]
        self._events = [memory.event() for _ in range(_BLOCK_COUNT)]
        self._rows: dict[int, _Row] = {}
        self._in_flight: deque[_Run] = deque()
        self._run_count = 0

    def begin(self, row: int, seed: int, params: Sequence[float], first_index: int, step_count: int) -> None:
        """See `StepLoop`."""
        self._rows[row] = _Row(seed, tuple(params), first_index, first_index + step_count)

    def advance(self, rows: Sequence[int]) -> list[RowFrame]:
        """See `StepLoop`."""
        late = [row for row in rows if not (self._rows[row].frames or self._rows[row].in_flight)]
        if late:
            self._put(late)
        ahead = [row for row in rows if self._rows[row].has_room and not self._rows[row].is_done]
        if ahead:
            self._put(ahead)
        return [self._take(self._rows[row]) for row in rows]

    def end(self, row: int) -> None:
        """See `StepLoop`."""
        self._rows.pop(row, None)

    def settle(self, row: int) -> None:
        """See `StepLoop`; steps are put on the stream by `advance` alone."""

    def close(self) -> None:
        """See `StepLoop`."""
        self._rows.clear()
        self._driver.synchronize(self._stream)
        self._in_flight.clear()

    def _put(self, rows: Sequence[int]) -> None:
        """Put a step for these rows on the stream; the others of the batch keep what they have."""
        while len(self._in_flight) >= _BLOCK_COUNT:
            self._collect()
        block = self._run_count % _BLOCK_COUNT
        self._run_count += 1
        self._fill(self._inputs[block], rows)
        self._driver.upload(self._tensors.uploaded_address, self._uploads[block], self._stream)
        self._runner.put(max(rows) + 1)
        self._driver.download(self._downloads[block], self._tensors.downloaded_address, self._stream)
        self._driver.record(self._events[block], self._stream)
        for row in rows:
            self._rows[row].next_index += 1
            self._rows[row].in_flight += 1
        self._in_flight.append(_Run(block, tuple((row, self._rows[row]) for row in rows)))

    def _fill(self, inputs: dict[str, NDArray[Any]], rows: Sequence[int]) -> None:
        chosen, index = [self._rows[row] for row in rows], np.array(rows)
        inputs["active"][:] = False
        inputs["active"][index] = True
        if "params" in inputs:
            inputs["params"][index] = [row.params for row in chosen]
        if "random" in inputs:
            seeds, steps = [row.seed for row in chosen], [row.next_index for row in chosen]
            inputs["random"][index] = uniform(seeds, steps, inputs["random"].shape[1])

    def _take(self, row: _Row) -> RowFrame:
        while not row.frames:
            self._collect()
        return row.frames.popleft()

    def _collect(self) -> None:
        """Wait for the oldest run and hand its frames to their rows."""
        run = self._in_flight.popleft()
        self._driver.wait(self._events[run.block])
        outputs = self._outputs[run.block]
        for index, row in run.rows:
            row.in_flight -= 1
            row.is_done = bool(outputs["done"][index])
            row.frames.append(row_frame(outputs, index))


def row_frame(outputs: dict[str, NDArray[Any]], row: int) -> RowFrame:
    """Copy one row out of a block that the GPU will write again."""
    emit, done, finite = (bool(outputs[name][row]) for name in ("emit", "done", "finite"))
    return RowFrame(outputs["frame"][row].copy(), emit, done, finite, outputs["row_ids_out"][row].copy())
