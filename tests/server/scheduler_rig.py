"""Drives a scheduler through steps with a clock that stands still and an engine that is only counted, not run."""

from dataclasses import dataclass, field

from server.config import SchedulingSettings
from server.kv_cache import SlotPool
from server.progress import Ramp, UtteranceProgress
from server.scheduler import Scheduler
from server.step import (
    DecodeResult,
    EngineLimits,
    Outcome,
    SegmentEnded,
    Step,
    StepResult,
    UtteranceEnded,
    VocodeResult,
    VocodeWork,
)
from server.utterance import Segment, SegmentId, UtteranceId
from tests.fakes import FRAME_S, LOOKAHEAD_FRAMES, FakeClock

LIMITS = EngineLimits(max_positions=400, prefill_chunk_rows=64)
RAMP = Ramp(first_frames=2, largest_frames=8, growth=2.0, frame_s=FRAME_S, lookahead_frames=LOOKAHEAD_FRAMES)
STALL_TIMEOUT_S = 30.0


@dataclass
class SchedulerRig:
    """A scheduler, its slots, and what came out of it."""

    slot_count: int = 4
    settings: SchedulingSettings = field(default_factory=SchedulingSettings)
    clock: FakeClock = field(default_factory=FakeClock)
    step_s: float = 0.005
    frames_per_segment: int = 12
    outcomes: list[Outcome] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    frame_counts: dict[SegmentId, int] = field(default_factory=dict)
    audio_frames: dict[SegmentId, int] = field(default_factory=dict)
    spares_s: list[float] = field(default_factory=list)
    vocoding: list[tuple[VocodeWork, ...]] = field(default_factory=list)
    segment_count: int = 0
    owners: dict[SegmentId, UtteranceId] = field(default_factory=dict)
    delivered_s: dict[UtteranceId, float] = field(default_factory=dict)
    read_s: dict[UtteranceId, float] = field(default_factory=dict)
    stopped: set[UtteranceId] = field(default_factory=set)
    """Utterances whose readers take nothing; all others take what there is."""

    def __post_init__(self) -> None:
        self.talker_slots = SlotPool(self.slot_count)
        self.vocoder_slots = SlotPool(self.slot_count)
        self.scheduler = Scheduler(self.settings, LIMITS, STALL_TIMEOUT_S, self.talker_slots, self.vocoder_slots)

    def open(self, number: int, *, lead_limit_s: float = 2.0, deadline_s: float = float("inf")) -> UtteranceId:
        """Add an utterance without text."""
        utterance_id = UtteranceId(number)
        self.scheduler.add_utterance(UtteranceProgress(utterance_id, RAMP, lead_limit_s, deadline_s))
        return utterance_id

    def say(self, utterance_id: UtteranceId, row_count: int = 10, max_frames: int = 300) -> SegmentId:
        """Add a segment."""
        segment = Segment(SegmentId(self.segment_count), utterance_id, 0, row_count, max_frames)
        self.segment_count += 1
        self.owners[segment.id] = utterance_id
        self.scheduler.add_segment(segment, self.clock())
        return segment.id

    def speak(self, number: int, segment_count: int = 1, *, lead_limit_s: float = 2.0) -> UtteranceId:
        """Add an utterance with all its text."""
        utterance_id = self.open(number, lead_limit_s=lead_limit_s)
        for _ in range(segment_count):
            self.say(utterance_id)
        self.scheduler.end_text(utterance_id)
        return utterance_id

    def step(self, *, failing: frozenset[SegmentId] = frozenset()) -> Step:
        """Take one step: the talker runs, the vocoder is given its work but does not do it."""
        self.read_s |= {each: s for each, s in self.delivered_s.items() if each not in self.stopped}
        for utterance_id in self.delivered_s:
            self.scheduler.set_read(utterance_id, self.read_s.get(utterance_id, 0.0), self.clock())
        step = self.scheduler.schedule(self.clock())
        self.steps.append(step)
        self.outcomes += step.outcomes
        if step.vocode:
            self.vocoding.append(step.vocode)
        if step.decode or step.prefill:
            self.clock.advance(self.step_s)
        decoded = tuple(self._decoded(work.segment_id, work.segment_id in failing) for work in step.decode)
        prefill_s = 0.002 + 0.0001 * sum(work.row_count for work in step.prefill)
        self.scheduler.update(step, StepResult(decoded, prefill_s, self.step_s))
        return step

    def vocode(self, *, failing: frozenset[SegmentId] = frozenset()) -> None:
        """Let the vocoder finish its oldest batch."""
        batch = self.vocoding.pop(0)
        results = []
        for work in batch:
            before = self.audio_frames.get(work.segment_id, 0)
            self.audio_frames[work.segment_id] = work.audio_end_frames
            duration_s = (work.audio_end_frames - before) * FRAME_S
            utterance_id = self.owners[work.segment_id]
            self.delivered_s[utterance_id] = self.delivered_s.get(utterance_id, 0.0) + duration_s
            results.append(VocodeResult(work.segment_id, duration_s, work.is_last, work.segment_id in failing))
        frames = sum(work.frame_count for work in batch)
        self.spares_s += self.scheduler.vocoded(results, self.clock(), 0.001, frames)

    def turn(self) -> Step:
        """Take one step and let the vocoder finish all it has."""
        step = self.step()
        while self.vocoding:
            self.vocode()
        return step

    def run(self, seconds: float) -> None:
        """Take steps for some time, sleeping as the worker would."""
        end_s = self.clock() + seconds
        while self.clock() < end_s:
            is_waiting = not self.vocoding  # what the vocoder finishes wakes the worker
            if self.turn().is_idle and is_waiting:
                wake_s = self.scheduler.next_wake_s(self.clock())
                assert wake_s > self.clock(), "the worker would spin"
                self.clock.now_s = min(end_s, wake_s)

    def ended(self) -> list[UtteranceEnded]:
        """Utterances that have come to their end, in order."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, UtteranceEnded)]

    def segments_ended(self) -> list[SegmentEnded]:
        """Segments that have come to their end, in order."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, SegmentEnded)]

    def _decoded(self, segment_id: SegmentId, failed: bool) -> DecodeResult:
        if failed:
            return DecodeResult(segment_id, emitted=False, done=True, failed=True)
        made = self.frame_counts.get(segment_id, 0)
        is_over = made == self.frames_per_segment
        self.frame_counts[segment_id] = made + (not is_over)
        return DecodeResult(segment_id, emitted=not is_over, done=is_over, failed=False)
