"""Keeps count of every utterance and turns the planner's choices into steps. Pure: no clock, no tensors, no I/O.

An utterance enters with `add_utterance`, gets segments, and leaves by its end, by `cancel`, by its deadline, by a
stalled reader or by a failure of the engine; whichever it is, all its slots are free at the next step.
"""

import math
from collections.abc import Iterable

from server.config import SchedulingSettings
from server.kv_cache import SlotPool
from server.planner import Planner
from server.progress import SegmentProgress, UtteranceProgress
from server.slot_lending import SlotLending
from server.step import (
    DecodeResult,
    DecodeWork,
    EngineLimits,
    Failure,
    Outcome,
    PrefillWork,
    SegmentEnded,
    Step,
    StepResult,
    UtteranceEnded,
    VocodeResult,
    VocodeWork,
)
from server.utterance import FinishReason, Segment, SegmentId, UtteranceId

# One runs and one waits: the vocoder is never idle for a step, and an urgent chunk never waits for more than these two.
_VOCODE_BATCHES = 2


class Scheduler:
    """Decides every step of the model thread.

    Args:
        settings: The policy.
        limits: What the engine can hold.
        stall_timeout_s: How long an utterance may hold its slot while nobody reads its audio.
        talker_slots: Slots of the talker; nobody else may allocate from them.
        vocoder_slots: Slots of the vocoder, likewise.
    """

    def __init__(
        self,
        settings: SchedulingSettings,
        limits: EngineLimits,
        stall_timeout_s: float,
        talker_slots: SlotPool,
        vocoder_slots: SlotPool,
    ) -> None:
        self.planner = Planner(settings, limits)
        self._settings = settings
        self._limits = limits
        self._stall_timeout_s = stall_timeout_s
        self._slots = SlotLending(talker_slots, vocoder_slots)
        self._utterances: dict[UtteranceId, UtteranceProgress] = {}
        self._owners: dict[SegmentId, UtteranceProgress] = {}
        self._outcomes: list[Outcome] = []
        self._dropped: list[SegmentId] = []
        self._vocode_batch_count = 0

    def add_utterance(self, utterance: UtteranceProgress) -> None:
        """Take on an utterance that has no text yet."""
        self._utterances[utterance.id] = utterance

    def add_segment(self, segment: Segment, now_s: float) -> None:
        """Queue a segment behind the others of its utterance; dropped if that is over."""
        utterance = self._utterances.get(segment.utterance_id)
        if utterance is None:
            self._dropped.append(segment.id)
            return
        if utterance.is_idle:
            utterance.busy_since_s = now_s
        utterance.waiting.append(segment)
        self._owners[segment.id] = utterance

    def end_text(self, utterance_id: UtteranceId) -> None:
        """No more segments will come for this utterance."""
        if utterance := self._utterances.get(utterance_id):
            utterance.text_ended = True

    def cancel(self, utterance_id: UtteranceId) -> None:
        """Drop an utterance and give back all it holds; ignored if that is over."""
        if utterance := self._utterances.pop(utterance_id, None):
            self._give_back(utterance)

    def set_read(self, utterance_id: UtteranceId, read_s: float, now_s: float) -> None:
        """Note how much audio of an utterance its reader has taken."""
        utterance = self._utterances.get(utterance_id)
        if utterance is None:
            return
        utterance.read_s = read_s
        if utterance.unread_s < self._settings.lead_limit_s:
            utterance.stalled_since_s = math.inf
        elif utterance.stalled_since_s == math.inf:
            utterance.stalled_since_s = now_s

    def schedule(self, now_s: float) -> Step:
        """Decide the next step. Its work counts as begun; `update` and `vocoded` report on it."""
        self._expire(now_s)
        for utterance in list(self._utterances.values()):
            self._advance(utterance)
        willing = self.planner.willing(self._utterances.values(), now_s)
        vocode = self._pick_vocode(len(willing), now_s)
        self._lend_slots(willing)
        runnable = self.planner.pressing(willing, now_s)
        prefill = tuple(self._prefill(part, rows) for part, rows in self.planner.prefill(runnable, now_s))
        decode = tuple(self._decode(part) for part in self.planner.decode(runnable))
        step = Step(tuple(self._outcomes), tuple(self._dropped), self._slots.take_released(), vocode, prefill, decode)
        self._outcomes, self._dropped = [], []
        return step

    def update(self, step: Step, result: StepResult) -> None:
        """Take in what the talker did in a step."""
        if step.prefill:
            self.planner.prefill_cost.observe(sum(work.row_count for work in step.prefill), result.prefill_s)
        if step.decode:
            self.planner.step_cost.observe(len(step.decode), result.decode_s)
        for decoded in result.decoded:
            self._update_one(decoded, result.prefill_s + result.decode_s)

    def vocoded(self, results: Iterable[VocodeResult], now_s: float, batch_s: float, frame_count: int) -> list[float]:
        """Take in what a batch of the vocoder did.

        Args:
            results: One for each piece of work of the batch.
            now_s: When the audio came out.
            batch_s: How long the batch took; 0 if it failed.
            frame_count: Frames in the batch.

        Returns:
            How many seconds before it was needed each chunk came; negative where the listener had to wait.
        """
        self._vocode_batch_count -= 1
        if batch_s:
            self.planner.vocode_cost.observe(frame_count, batch_s)
        spares_s = [self._vocoded_one(result, now_s, batch_s) for result in results]
        return [spare_s for spare_s in spares_s if spare_s is not None]

    def fail(self, segment_ids: Iterable[SegmentId]) -> None:
        """End the utterances of these segments because the engine failed on them."""
        for segment_id in segment_ids:
            if utterance := self._owners.get(segment_id):
                self._end(utterance, Failure.ENGINE)

    def next_wake_s(self, now_s: float) -> float:
        """Return the moment at which `schedule` could have something new to say although nothing comes in."""
        return min((self._wake_s(utterance, now_s) for utterance in self._utterances.values()), default=math.inf)

    def check_integrity(self) -> None:
        """Assert that every slot is held by a segment that knows of it, and that nothing over is remembered."""
        self._slots.check_integrity(self._utterances.values())
        for each in self._utterances.values():
            pending = sum(part.frame_count - part.audio_frames for part in each.active)
            talking = [part for part in each.active if part.reason is None]
            assert (pending, talking) == (each.pending_frames, [each.talking] if each.talking else []), "a wrong count"
        owned = {segment.id for each in self._utterances.values() for segment in each.segments()}
        assert owned == self._owners.keys(), "a segment is remembered that is over, or forgotten while it works"

    def _expire(self, now_s: float) -> None:
        """End what has reached its deadline, or whose reader has been away for too long."""
        for utterance in list(self._utterances.values()):
            if utterance.deadline_s <= now_s:
                self._end(utterance, Failure.DEADLINE)
            elif utterance.stalled_since_s + self._stall_timeout_s <= now_s:
                self._end(utterance, Failure.STALLED)

    def _advance(self, utterance: UtteranceProgress) -> None:
        """Let the next segment begin where the last one has ended, and the utterance end where nothing is left."""
        while utterance.talking is None and utterance.waiting:
            self._begin(utterance, utterance.waiting.popleft())
        while utterance.active and utterance.active[0].is_silent:
            self._finish_oldest(utterance)
        if utterance.text_ended and utterance.is_idle:
            self._end(utterance, utterance.reason)

    def _begin(self, utterance: UtteranceProgress, segment: Segment) -> None:
        part = SegmentProgress(segment)
        utterance.active.append(part)
        if segment.row_count:
            utterance.talking = part
        else:
            part.reason = FinishReason.EMPTY

    def _lend_slots(self, willing: Iterable[UtteranceProgress]) -> None:
        for utterance in willing:
            part = utterance.talking
            if part and part.slot is None:
                self._slots.lend_talker_slot(part)

    def _pick_vocode(self, step_rows: int, now_s: float) -> tuple[VocodeWork, ...]:
        if self._vocode_batch_count == _VOCODE_BATCHES:
            return ()
        free_slot_count = self._slots.free_vocoder_slot_count
        due = self.planner.vocode(self._utterances.values(), free_slot_count, step_rows, now_s)
        works = tuple(self._vocode(utterance, now_s) for utterance in due)
        self._vocode_batch_count += bool(works)
        return works

    def _prefill(self, part: SegmentProgress, row_count: int) -> PrefillWork:
        start = part.prefilled_rows
        part.prefilled_rows += row_count
        assert part.slot is not None
        return PrefillWork(part.segment.id, part.slot, start, row_count, part.is_prefilled)

    def _decode(self, part: SegmentProgress) -> DecodeWork:
        part.step_count += 1
        assert part.slot is not None
        return DecodeWork(part.segment.id, part.slot, part.step_count - 1)

    def _vocode(self, utterance: UtteranceProgress, now_s: float) -> VocodeWork:
        part, chunk = utterance.active[0], utterance.next_vocode(now_s)
        slot = self._slots.lend_vocoder_slot(utterance)
        start = part.vocoded_frames
        part.vocoded_frames += chunk.frame_count
        part.expected_audio_frames = chunk.audio_end_frames
        utterance.is_vocoding = True
        return VocodeWork(part.segment.id, slot, start, *chunk[:2], start == 0, chunk.is_last)

    def _update_one(self, decoded: DecodeResult, step_s: float) -> None:
        utterance = self._owners[decoded.segment_id]
        if decoded.failed:
            self._end(utterance, Failure.ENGINE)
            return
        part = utterance.active[-1]
        utterance.synthesis_s += step_s
        part.frame_count += decoded.emitted
        utterance.pending_frames += decoded.emitted
        positions = part.segment.row_count + part.step_count
        if decoded.done:
            part.reason = FinishReason.COMPLETED
        elif part.frame_count >= part.segment.max_frames or positions >= self._limits.max_positions:
            part.reason = FinishReason.LENGTH
        if part.reason is not None:
            utterance.talking = None
            self._slots.free_talker_slot(part)

    def _vocoded_one(self, result: VocodeResult, now_s: float, batch_s: float) -> float | None:
        utterance = self._owners.get(result.segment_id)
        if utterance is None:
            self._slots.free_orphan(result.segment_id)
            return None
        utterance.is_vocoding = False
        if result.failed:
            self._end(utterance, Failure.ENGINE)
            return None
        part = utterance.active[0]
        utterance.pending_frames -= part.expected_audio_frames - part.audio_frames
        part.audio_frames = part.expected_audio_frames
        utterance.synthesis_s += batch_s
        spare_s = utterance.deliver(now_s, result.duration_s, self._settings.ttfa_target_s)
        if result.is_last:
            self._finish_oldest(utterance)
        return spare_s

    def _finish_oldest(self, utterance: UtteranceProgress) -> None:
        part = utterance.active[0]
        assert part.reason is not None
        self._slots.free_vocoder_slot(utterance)
        utterance.active.popleft()
        self._forget(part.segment.id)
        if part.reason is not FinishReason.EMPTY and utterance.reason is not FinishReason.LENGTH:
            utterance.reason = part.reason
        utterance.segment_count += 1
        self._outcomes.append(SegmentEnded(utterance.id, part.segment.id, part.reason, part.frame_count))

    def _end(self, utterance: UtteranceProgress, reason: FinishReason | Failure) -> None:
        del self._utterances[utterance.id]
        self._give_back(utterance)
        self._outcomes.append(
            UtteranceEnded(
                utterance.id, reason, utterance.clock.delivered_s, utterance.segment_count, utterance.synthesis_s
            )
        )

    def _give_back(self, utterance: UtteranceProgress) -> None:
        self._slots.give_back(utterance)
        for segment in utterance.segments():
            self._forget(segment.id)

    def _forget(self, segment_id: SegmentId) -> None:
        del self._owners[segment_id]
        self._dropped.append(segment_id)

    def _wake_s(self, utterance: UtteranceProgress, now_s: float) -> float:
        stalled_s = utterance.stalled_since_s + self._stall_timeout_s
        return min(utterance.deadline_s, stalled_s, self.planner.wake_s(utterance, now_s))
