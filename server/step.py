"""One turn of the model thread: what the scheduler asks for, and what comes back."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

from server.utterance import FinishReason, SegmentId, UtteranceId


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What an engine can hold and take."""

    max_positions: int
    """Prompt rows and steps of one slot together."""
    prefill_chunk_rows: int
    """Rows of one slot in one prefill call at most."""


class PrefillWork(NamedTuple):
    """Write rows [start, start + row_count) of a segment's prompt into its slot."""

    segment_id: SegmentId
    slot: int
    start: int
    row_count: int
    is_last: bool


class DecodeWork(NamedTuple):
    """Make the next frame of a segment."""

    segment_id: SegmentId
    slot: int
    step_index: int


class VocodeWork(NamedTuple):
    """Turn frames [start, start + frame_count) of a segment into samples."""

    segment_id: SegmentId
    slot: int
    start: int
    frame_count: int
    audio_end_frames: int
    """Frames of the segment whose samples will have come out after this."""
    is_first: bool
    is_last: bool


class Failure(Enum):
    """Why an utterance was ended by the server."""

    DEADLINE = "deadline"
    STALLED = "stalled"
    ENGINE = "engine"


class SegmentEnded(NamedTuple):
    """All audio of a segment has come out."""

    utterance_id: UtteranceId
    segment_id: SegmentId
    reason: FinishReason
    frame_count: int


class UtteranceEnded(NamedTuple):
    """An utterance has come to its end; everything of it has been given back."""

    utterance_id: UtteranceId
    reason: FinishReason | Failure
    duration_s: float
    segment_count: int
    synthesis_s: float
    """Time of the steps and vocoder batches that this utterance took part in."""


Outcome: TypeAlias = SegmentEnded | UtteranceEnded


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next, in the order of the fields."""

    outcomes: tuple[Outcome, ...] = ()
    dropped: tuple[SegmentId, ...] = ()
    """Segments that are over: whatever was kept for them can go."""
    released_slots: tuple[int, ...] = ()
    """Slots of the talker that were given back since the last step; some may be lent again in this one."""
    vocode: tuple[VocodeWork, ...] = ()
    prefill: tuple[PrefillWork, ...] = ()
    decode: tuple[DecodeWork, ...] = ()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing in it at all."""
        return not (self.decode or self.prefill or self.vocode or self.outcomes or self.released_slots or self.dropped)


class DecodeResult(NamedTuple):
    """What became of one `DecodeWork`."""

    segment_id: SegmentId
    emitted: bool
    done: bool
    failed: bool


class VocodeResult(NamedTuple):
    """What became of one `VocodeWork`."""

    segment_id: SegmentId
    duration_s: float
    is_last: bool
    failed: bool


class StepResult(NamedTuple):
    """What the talker did in a step, and how long it took."""

    decoded: tuple[DecodeResult, ...] = ()
    prefill_s: float = 0.0
    decode_s: float = 0.0
