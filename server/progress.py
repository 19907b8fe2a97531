"""How far an utterance has come, as the scheduler sees it: counts and moments, no decisions. Pure.

Frames of a segment pass three marks, each behind the one before:

    vocoded_frames <= frame_count        made by the talker, handed to the vocoder
    audio_frames   <= vocoded_frames     come out as samples; behind by the vocoder's look-ahead until the segment ends
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from server.pacing import PlaybackClock, chunk_frames
from server.utterance import FinishReason, Segment, UtteranceId

PATIENT_LEAD_S = 1.0
"""A listener who has this much can wait for a longer chunk, which costs less, and never feel the network's jitter."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """How chunks grow, and what a frame is worth.

    Attributes:
        first_frames: Length of the first chunk after silence.
        largest_frames: No chunk is longer, but for `patient_frames`.
        growth: Factor from one chunk to the next.
        frame_s: Seconds of audio in a frame.
        lookahead_frames: Frames by which the vocoder's samples lag behind.
        patient_frames: Length of a chunk for a listener who has plenty; 0 for no longer than any other.
    """

    first_frames: int
    largest_frames: int
    growth: float
    frame_s: float
    lookahead_frames: int
    patient_frames: int = 0

    def longest_frames(self, lead_s: float) -> int:
        """Return the length of the longest chunk for a listener who has this much."""
        return max(self.largest_frames, self.patient_frames if lead_s >= PATIENT_LEAD_S else 0)


@dataclass(slots=True)
class SegmentProgress:
    """A segment at work: it holds a slot of the talker, or waits for the vocoder to catch up."""

    segment: Segment
    slot: int | None = None
    prefilled_rows: int = 0
    step_count: int = 0
    frame_count: int = 0
    vocoded_frames: int = 0
    audio_frames: int = 0
    expected_audio_frames: int = 0
    """What `audio_frames` will be when the vocoder has done its present work."""
    reason: FinishReason | None = None
    """Why the talker ended; None while it works."""

    @property
    def is_silent(self) -> bool:
        """Whether the segment ended without a single frame."""
        return self.reason is not None and not self.frame_count

    @property
    def is_prefilled(self) -> bool:
        """Whether the next thing to do for the talker is a step."""
        return self.prefilled_rows == self.segment.row_count


class VocodeChunk(NamedTuple):
    """The next piece of a segment for the vocoder."""

    frame_count: int
    audio_end_frames: int
    """Frames of the segment whose samples will have come out after it."""
    is_last: bool


@dataclass(slots=True)
class UtteranceProgress:
    """An utterance at work. Segments go from `waiting` to `active`; only the newest active one can still be talking."""

    id: UtteranceId
    ramp: Ramp
    lead_limit_s: float
    deadline_s: float = math.inf
    clock: PlaybackClock = field(default_factory=PlaybackClock)
    waiting: deque[Segment] = field(default_factory=deque)
    active: deque[SegmentProgress] = field(default_factory=deque)
    talking: SegmentProgress | None = None
    """The segment whose frames are being made: the newest active one, or none."""
    pending_frames: int = 0
    """Frames of all active segments that have not come out as samples."""
    text_ended: bool = False
    busy_since_s: float = -math.inf
    """When text came to this utterance while it had nothing to do."""
    is_held: bool = False
    """Whether it is so far ahead of its listener that it sits out."""
    resume_s: float = 0.0
    """Where it is held: how far ahead it still is when it goes on, whoever else does."""
    read_s: float = 0.0
    """Audio that the reader has taken."""
    stalled_since_s: float = math.inf
    chunk_index: int = 0
    """Chunks delivered since the listener last had nothing."""
    vocoder_slot: int | None = None
    is_vocoding: bool = False
    synthesis_s: float = 0.0
    segment_count: int = 0
    """Segments that are over."""
    reason: FinishReason = FinishReason.EMPTY

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do until more text comes."""
        return not self.waiting and not self.active

    def segments(self) -> Iterator[Segment]:
        """Yield every segment that is not over, in order."""
        yield from (part.segment for part in self.active)
        yield from self.waiting

    @property
    def unheard_s(self) -> float:
        """Audio that is made as frames, and could come out as samples, but has not."""
        frames = self.pending_frames if self.talking is None else self.pending_frames - self.ramp.lookahead_frames
        return frames * self.ramp.frame_s if frames > 0 else 0.0

    @property
    def unread_s(self) -> float:
        """Audio that is made, as frames at least, and that the reader has not taken."""
        return self.clock.delivered_s + self.unheard_s - self.read_s

    def due_s(self, ttfa_target_s: float) -> float:
        """Return when the next audio is due: when the listener runs out, or, for new text, when it may be expected."""
        return max(self.clock.end_s, self.busy_since_s + ttfa_target_s)

    def ahead_s(self, now_s: float) -> float:
        """Return how far the frames are ahead of the listener."""
        return self.clock.lead_s(now_s) + self.unheard_s

    def ready_frames(self) -> int:
        """Return how many frames of audio would come out if the oldest segment were vocoded now; may be negative."""
        oldest = self.active[0]
        held_back = self.ramp.lookahead_frames if oldest.reason is None else 0
        return oldest.frame_count - held_back - oldest.audio_frames

    def is_vocode_due(self, now_s: float, latency_s: float) -> bool:
        """Return whether the oldest segment should go to the vocoder now.

        Args:
            now_s: The moment.
            latency_s: Time from now until the chunk after next could be there, were this chance let pass.
        """
        if self.is_vocoding or not self.active or not self.active[0].frame_count:
            return False
        if self.active[0].reason is not None:
            return True
        ready = self.ready_frames()
        if ready < 1:
            return False
        lead_s = self.clock.lead_s(now_s)
        is_late = 0.0 < lead_s <= latency_s and self.chunk_index > 0
        is_waited_for = self.is_held and lead_s < PATIENT_LEAD_S
        return is_late or is_waited_for or ready >= self._enough_frames(lead_s)

    def _enough_frames(self, lead_s: float) -> int:
        """Return the length of the next chunk on the ramp, which starts anew when the listener has nothing."""
        ramp, chunk_index = self.ramp, self.chunk_index if lead_s > 0.0 else 0
        return chunk_frames(ramp.first_frames, ramp.longest_frames(lead_s), ramp.growth, chunk_index)

    def next_vocode(self, now_s: float) -> VocodeChunk:
        """Return what to vocode of the oldest segment."""
        oldest, ramp = self.active[0], self.ramp
        longest = ramp.longest_frames(self.clock.lead_s(now_s))
        pending = oldest.frame_count - oldest.vocoded_frames
        count = min(pending, longest + (0 if oldest.vocoded_frames else ramp.lookahead_frames))
        is_last = oldest.reason is not None and count == pending
        end = oldest.vocoded_frames + count
        return VocodeChunk(count, end if is_last else max(0, end - ramp.lookahead_frames), is_last)

    def deliver(self, now_s: float, duration_s: float, ttfa_target_s: float) -> float | None:
        """Advance the playback clock by a chunk.

        Returns:
            Seconds between its coming and the moment it was needed; negative if the listener had to wait. None if it
            had nothing before there was text: such silence is nobody's fault.
        """
        spare_s = self.due_s(ttfa_target_s) - now_s
        is_continuous = self.clock.end_s >= self.busy_since_s
        self.chunk_index = self.chunk_index + 1 if self.clock.end_s > now_s else 1
        self.clock.deliver(now_s, duration_s)
        return spare_s if is_continuous else None
