"""Drives a talker through segments that join, step and leave, for tests of what it puts out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import PrefillChunk, StepFrame, StepRequest, Talker
from trt_engines.errors import SlotError

Trace = list[tuple[list[int | float], bool, bool, int]]
PromptMaker = Callable[[int], NDArray[np.int32]]


@dataclass
class Segment:
    """One segment to be spoken: its prompt int32 [rows, columns], seed, and what came out so far."""

    slot: int
    row_ids: NDArray[np.int32]
    seed: int
    params: tuple[float, ...]
    trace: Trace = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether the talker has said so."""
        return bool(self.trace) and self.trace[-1][2]

    def chunks(self, chunk_rows: int) -> list[PrefillChunk]:
        """Cut the prompt into chunks of this many rows."""
        starts = range(0, len(self.row_ids), chunk_rows)
        rows = [self.row_ids[start : start + chunk_rows] for start in starts]
        return [
            PrefillChunk(self.slot, part, start, is_last=start == starts[-1])
            for start, part in zip(starts, rows, strict=True)
        ]

    def request(self) -> StepRequest:
        """Ask for the next frame."""
        return StepRequest(self.slot, self.params, self.seed, len(self.trace))


def prefill(talker: Talker, segments: Sequence[Segment], chunk_rows: int) -> None:
    """Prefill several segments at once, chunk by chunk."""
    queues = [segment.chunks(chunk_rows) for segment in segments]
    while any(queues):
        talker.prefill([queue.pop(0) for queue in queues if queue])


def step(talker: Talker, segments: Sequence[Segment]) -> None:
    """Step several segments at once and note what came out."""
    for segment, result in zip(segments, talker.step([segment.request() for segment in segments]), strict=True):
        assert isinstance(result, StepFrame)
        segment.trace.append((result.frame.tolist(), result.emit, result.done, result.pointer))


def speak_alone(talker: Talker, segment: Segment, step_count: int, chunk_rows: int = 64) -> Trace:
    """Speak one segment, nothing else being spoken, for some steps or to its end."""
    prefill(talker, [segment], chunk_rows)
    while not segment.is_done and len(segment.trace) < step_count:
        step(talker, [segment])
    talker.release(segment.slot)
    return segment.trace


def speak_in_a_storm(talker: Talker, segments: Sequence[Segment], step_count: int, seed: int) -> None:
    """Speak segments that join and leave at random, and that skip some steps; slots are used again and again."""
    random = np.random.default_rng(seed)
    waiting, running = list(segments), list[Segment]()
    while waiting or running:
        taken = {segment.slot for segment in running}
        joining = list({s.slot: s for s in waiting if s.slot not in taken}.values())[: random.integers(0, 5)]
        prefill(talker, joining, int(random.integers(1, 40)))
        waiting = [segment for segment in waiting if not any(segment is one for one in joining)]
        running += joining
        step(talker, [segment for segment in running if random.random() < 0.8])
        for segment in [s for s in running if s.is_done or len(s.trace) >= step_count or random.random() < 0.01]:
            talker.release(segment.slot)
            running = [one for one in running if one is not segment]


def is_error(result: StepFrame | SlotError) -> bool:
    """Tell a failed slot from a frame."""
    return isinstance(result, SlotError)
