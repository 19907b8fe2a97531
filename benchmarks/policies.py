"""Four ways to share one engine, on virtual time: each takes listeners in order of arrival and lets them hear."""

import heapq
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.virtual_engine import (
    FIRST_FRAMES,
    FRAME_S,
    LARGEST_FRAMES,
    LOOKAHEAD_FRAMES,
    ROWS_PER_FRAME,
    Costs,
    Listener,
)
from server.config import SchedulingSettings
from server.kv_cache import SlotPool
from server.pacing import chunk_frames
from server.progress import Ramp, UtteranceProgress
from server.scheduler import Scheduler
from server.step import DecodeResult, EngineLimits, Step, StepResult, VocodeResult, VocodeWork
from server.utterance import Segment, SegmentId, UtteranceId

_LIMITS = EngineLimits(max_positions=10_000, prefill_chunk_rows=64)
OURS = SchedulingSettings()
UNPACED = replace(OURS, lead_limit_s=60.0, comfort_lead_s=0.0)


def one_at_a_time(costs: Costs, listeners: Sequence[Listener]) -> None:
    """First come, first served, the whole engine for each."""
    _in_batches(costs, listeners, 1)


def static_batches(costs: Costs, listeners: Sequence[Listener]) -> None:
    """All who wait are spoken together, up to the slots; the next batch begins when the last of them has ended."""
    _in_batches(costs, listeners, costs.slot_count)


def continuous_unpaced(costs: Costs, listeners: Sequence[Listener]) -> None:
    """Join and leave between frames, everything as fast as it can be made."""
    _Continuous(costs, UNPACED, math.inf).run(listeners)


def ours(costs: Costs, listeners: Sequence[Listener]) -> None:
    """The server's own scheduler, as it ships."""
    _Continuous(costs, OURS, OURS.lead_limit_s).run(listeners)


POLICIES = {
    "one at a time": one_at_a_time,
    "static batches": static_batches,
    "continuous, no pacing": continuous_unpaced,
    "playback clock (ours)": ours,
}


def _in_batches(costs: Costs, listeners: Sequence[Listener], size: int) -> None:
    """Speak listeners in batches of at most `size`; a batch begins with whoever has come by then."""
    waiting, now_s = deque(listeners), 0.0
    while waiting:
        now_s = max(now_s, waiting[0].arrival_s)
        batch = list[Listener]()
        while waiting and waiting[0].arrival_s <= now_s and len(batch) < size:
            batch.append(waiting.popleft())
        now_s = _speak_batch(costs, batch, now_s)


def _speak_batch(costs: Costs, batch: Sequence[Listener], now_s: float) -> float:
    """Speak a batch to the end of its longest member, chunks on the ramp; return when that is."""
    longest = max(listener.frames for listener in batch)
    now_s += costs.prefill(round(ROWS_PER_FRAME * sum(listener.frames for listener in batch)))
    heard, vocoder_free_s = 0, 0.0
    for end in _chunk_ends(longest):
        now_s += costs.step(len(batch)) * (
            min(longest, end + LOOKAHEAD_FRAMES) - min(longest, heard + LOOKAHEAD_FRAMES)
        )
        if not heard:
            now_s += costs.step(len(batch)) * min(longest, LOOKAHEAD_FRAMES)
        live = [listener for listener in batch if listener.frames > heard]
        vocoder_free_s = max(vocoder_free_s, now_s) + costs.vocode((end - heard) * len(live))
        for listener in live:
            listener.hear(vocoder_free_s, min(end, listener.frames) - heard)
        heard = end
    return now_s


def _chunk_ends(frames: int) -> Iterator[int]:
    end, index = 0, 0
    while end < frames:
        end = min(frames, end + chunk_frames(FIRST_FRAMES, LARGEST_FRAMES, OURS.chunk_growth, index))
        index += 1
        yield end


@dataclass
class _Speaking:
    """A segment at work: whose it is, and how many of its frames are made and heard."""

    listener: Listener
    frames: int
    made: int = 0
    heard: int = 0


class _Continuous:
    """The scheduler of the server on a virtual engine."""

    def __init__(self, costs: Costs, settings: SchedulingSettings, lead_limit_s: float) -> None:
        self._costs = costs
        slots, vocoder_slots = SlotPool(costs.slot_count), SlotPool(costs.slot_count)
        self._scheduler = Scheduler(settings, _LIMITS, math.inf, slots, vocoder_slots)
        self._ramp = Ramp(
            FIRST_FRAMES, LARGEST_FRAMES, settings.chunk_growth, FRAME_S, LOOKAHEAD_FRAMES, 2 * LARGEST_FRAMES
        )
        self._lead_limit_s = lead_limit_s
        self._segments: dict[SegmentId, _Speaking] = {}
        self._live: dict[UtteranceId, Listener] = {}
        self._vocoding: list[tuple[float, int, float, tuple[VocodeWork, ...]]] = []
        self._vocoder_free_s = 0.0
        self._now_s = 0.0

    def run(self, listeners: Sequence[Listener]) -> None:
        """Let time pass until everybody has heard everything, or was refused."""
        waiting = deque(listeners)
        while waiting or self._live or self._vocoding:
            while waiting and waiting[0].arrival_s <= self._now_s:
                self._admit(waiting.popleft())
            while self._vocoding and self._vocoding[0][0] <= self._now_s:
                self._hear()
            step = self._scheduler.schedule(self._now_s)
            for outcome in step.outcomes:
                self._live.pop(outcome.utterance_id if hasattr(outcome, "synthesis_s") else UtteranceId(-1), None)
            self._vocode(step.vocode)
            if step.decode or step.prefill:
                self._run(step)
            elif step.is_idle:
                self._sleep(waiting)

    def _admit(self, listener: Listener) -> None:
        if len(self._live) >= self._costs.slot_count:
            listener.is_refused = True
            return
        utterance = UtteranceProgress(UtteranceId(id(listener)), self._ramp, self._lead_limit_s)
        utterance.read_s = math.inf  # every reader takes what there is
        self._live[utterance.id] = listener
        self._scheduler.add_utterance(utterance)
        for index, frames in enumerate(listener.segments):
            segment = Segment(
                SegmentId(len(self._segments)), utterance.id, index, round(ROWS_PER_FRAME * frames), frames
            )
            self._segments[segment.id] = _Speaking(listener, frames)
            self._scheduler.add_segment(segment, self._now_s)
        self._scheduler.end_text(utterance.id)

    def _run(self, step: Step) -> None:
        rows = sum(work.row_count for work in step.prefill)
        prefill_s = self._costs.prefill(rows) if rows else 0.0
        decode_s = self._costs.step(len(step.decode)) if step.decode else 0.0
        self._now_s += prefill_s + decode_s
        decoded = list[DecodeResult]()
        for work in step.decode:
            speaking = self._segments[work.segment_id]
            speaking.made += 1
            is_done = speaking.made == speaking.frames
            decoded.append(DecodeResult(work.segment_id, emitted=True, done=is_done, failed=False))
        self._scheduler.update(step, StepResult(tuple(decoded), prefill_s, decode_s))

    def _vocode(self, works: tuple[VocodeWork, ...]) -> None:
        if works:
            cost_s = self._costs.vocode(sum(work.frame_count for work in works))
            self._vocoder_free_s = max(self._vocoder_free_s, self._now_s) + cost_s
            heapq.heappush(self._vocoding, (self._vocoder_free_s, len(self._vocoding), cost_s, works))

    def _hear(self) -> None:
        ended_s, _, cost_s, works = heapq.heappop(self._vocoding)
        results = list[VocodeResult]()
        for work in works:
            speaking = self._segments[work.segment_id]
            frames = work.audio_end_frames - speaking.heard
            speaking.heard = work.audio_end_frames
            speaking.listener.hear(ended_s, frames)
            results.append(VocodeResult(work.segment_id, frames * FRAME_S, work.is_last, failed=False))
        self._scheduler.vocoded(results, ended_s, cost_s, sum(work.frame_count for work in works))

    def _sleep(self, waiting: deque[Listener]) -> None:
        moments = [self._scheduler.next_wake_s(self._now_s)]
        moments += [waiting[0].arrival_s] if waiting else []
        moments += [self._vocoding[0][0]] if self._vocoding else []
        self._now_s = min(moments)
