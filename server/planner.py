"""Chooses who takes part in the next step: by deadlines, leads and expected costs. Pure, and changes nothing but holds.

* Everything goes in the order of deadlines: when a listener runs out of audio, or when new text should first be heard.
* Who is `lead_limit_s` ahead of its listener sits out until a part of that is played; then all that have room fill up
  together, so that the batch is full when it runs. Who is well ahead waits for such company: a step of a few rows costs
  about as much as one of many.
* While any listener has little or no audio, those with a comfortable lead wait, if that makes the step much shorter.
* Prompts are prefilled in the time that running listeners can spare, or when the prompt's own deadline is nearer.
* The vocoder gets a chunk when it is as long as the ramp says, or when it is needed at once; in small batches while
  any listener has little or no audio, in large ones otherwise.
"""

import math
from collections.abc import Iterable, Sequence

from server.config import SchedulingSettings
from server.pacing import LinearCost
from server.progress import PATIENT_LEAD_S, SegmentProgress, UtteranceProgress
from server.step import EngineLimits

_RESUME_SHARE = 0.75  # of the lead limit: who sits out comes back when its lead has fallen to this
_ALONE_SHARE = 0.5  # of the lead limit: who is further ahead steps only together with at least half of the others
_LIVE_LEAD_S = 60.0  # who may be sent more than that ahead is not listening yet, so nobody stands aside for it
_JOIN_SHARE = 0.875  # who sits out joins others that run anyway from here on: for a few steps in a row, not for each
_WAKE_LATE_S = 0.001  # so that the moment has surely passed when the worker looks
_MUCH_SHORTER = 0.75
_RELAXED_BATCHES = 3.0  # the vocoder's budget is this many times larger while every listener has some audio
_FEWEST_PREFILL_ROWS = 16  # a smaller piece of a prompt is not worth a call of its own


class Planner:
    """The policy of the scheduler, and what it has learned about the cost of steps."""

    def __init__(self, settings: SchedulingSettings, limits: EngineLimits) -> None:
        self._settings = settings
        self._limits = limits
        self.step_cost = LinearCost(fixed_s=0.002, per_item_s=0.0003)
        self.prefill_cost = LinearCost(fixed_s=0.002, per_item_s=0.0001)
        self.vocode_cost = LinearCost(fixed_s=0.001, per_item_s=0.0005)

    def due_s(self, utterance: UtteranceProgress) -> float:
        """Return when the next audio of an utterance is due."""
        return utterance.due_s(self._settings.ttfa_target_s)

    def capacity(self, budget_s: float) -> int:
        """Return how many utterances can be given a frame each within `budget_s`.

        The talker steps all of them at once; the vocoder takes them in batches, of which each has its fixed part.
        """
        batch = self.vocode_cost.sensible_count(self._settings.vocode_budget_s)
        vocoded = int(batch * budget_s / self.vocode_cost.seconds(batch))
        return min(self.step_cost.count_within(budget_s), vocoded)

    def willing(self, utterances: Iterable[UtteranceProgress], now_s: float) -> list[UtteranceProgress]:
        """Return who has work for the talker and is not held, the nearest deadline first."""
        working = [each for each in utterances if each.talking or each.waiting]
        for utterance in working:
            self._hold(utterance, now_s)
        going = [each for each in working if not each.is_held]
        if going:
            going += [each for each in working if each.is_held and self._has_room(each, now_s)]
        reading = sum(not self._is_unread(each) for each in working)
        if 2 * len(going) < reading and all(each.ahead_s(now_s) > self._alone_s(each) for each in going):
            for utterance in going:
                utterance.is_held, utterance.resume_s = True, self._alone_s(utterance)
            return []
        for utterance in going:
            utterance.is_held = False
        return sorted(going, key=self.due_s)

    def pressing(self, willing: Iterable[UtteranceProgress], now_s: float) -> list[UtteranceProgress]:
        """Return those who have a slot and whose turn it is, in the same order."""
        runnable = [each for each in willing if each.talking and each.talking.slot is not None]
        ahead_s = [each.ahead_s(now_s) for each in runnable]
        comfort_s = self._settings.comfort_lead_s
        live_s = [lead_s for each, lead_s in zip(runnable, ahead_s, strict=True) if _is_live(each)]
        if min(live_s, default=comfort_s) >= 0.5 * comfort_s:
            return runnable
        pressing = [each for each, lead_s in zip(runnable, ahead_s, strict=True) if lead_s <= comfort_s]
        # A full batch makes more frames a second; it is worth giving up only where that makes the step much shorter.
        is_worth_it = self.step_cost.seconds(len(pressing)) <= _MUCH_SHORTER * self.step_cost.seconds(len(runnable))
        return pressing if is_worth_it else runnable

    def prefill(self, runnable: Sequence[UtteranceProgress], now_s: float) -> list[tuple[SegmentProgress, int]]:
        """Return whose prompts to prefill, and how many rows of each."""
        stepping = [each for each in runnable if each.talking and each.talking.is_prefilled]
        stepping_due_s = min((each.clock.end_s for each in stepping if each.clock.end_s > now_s), default=math.inf)
        spare_s = stepping_due_s - now_s - self._settings.margin_s - self.step_cost.seconds(len(stepping))
        budget_rows = self.prefill_cost.sensible_count(self._settings.prefill_budget_s)
        spare_rows = min(budget_rows, self.prefill_cost.count_within(spare_s))
        chosen: list[tuple[SegmentProgress, int]] = []
        for utterance in runnable:
            part = utterance.talking
            if part is None or part.is_prefilled:
                continue
            wanted = min(part.segment.row_count - part.prefilled_rows, self._limits.prefill_chunk_rows)
            rows = min(wanted, spare_rows)
            if rows < min(wanted, _FEWEST_PREFILL_ROWS):
                if chosen or self.due_s(utterance) > stepping_due_s:
                    break
                rows = min(wanted, budget_rows)
            chosen.append((part, rows))
            spare_rows -= rows
        return chosen

    def decode(self, runnable: Sequence[UtteranceProgress]) -> list[SegmentProgress]:
        """Return the segments to step, after this step's prefill."""
        ready = [part for each in runnable if (part := each.talking) and part.is_prefilled]
        return ready[: self._settings.max_batch_rows or None]

    def vocode(
        self, utterances: Iterable[UtteranceProgress], free_slot_count: int, step_rows: int, now_s: float
    ) -> list[UtteranceProgress]:
        """Return whose oldest segment should go to the vocoder, at most one batch full, the nearest deadline first.

        Args:
            utterances: All that are at work.
            free_slot_count: How many of them can be lent a slot of the vocoder.
            step_rows: Rows of the step that comes before the next chance.
            now_s: The moment.
        """
        settings, everybody = self._settings, tuple(utterances)
        frames = self.vocode_cost.sensible_count(settings.vocode_budget_s)
        latency_s = settings.margin_s + self.step_cost.seconds(step_rows) + self.vocode_cost.seconds(frames)
        due = sorted((each for each in everybody if each.is_vocode_due(now_s, latency_s)), key=self.due_s)
        chunks = [(each, each.next_vocode(now_s).frame_count) for each in due]
        # Where many are behind, each waits for the others anyway; then large batches, being cheaper, serve all best.
        behind_s = now_s + 0.5 * settings.comfort_lead_s
        if not any(_is_live(each) and each.clock.end_s < behind_s for each in everybody if not each.is_idle):
            frames = self.vocode_cost.sensible_count(_RELAXED_BATCHES * settings.vocode_budget_s)
        frames = max(frames, sum(count for each, count in chunks if each.clock.end_s < behind_s) // 2)
        chosen: list[UtteranceProgress] = []
        for utterance, frame_count in chunks:
            if utterance.vocoder_slot is None:
                if not free_slot_count:
                    continue
                free_slot_count -= 1
            frames -= frame_count
            if chosen and frames < 0:
                break
            chosen.append(utterance)
        return chosen

    def wake_s(self, utterance: UtteranceProgress, now_s: float) -> float:
        """Return when a held utterance goes on by itself; infinity for any other."""
        if not utterance.is_held:
            return math.inf
        moments_s = [math.inf]
        playable_s = utterance.resume_s - utterance.unheard_s
        if playable_s > 0.0 and not self._is_unread(utterance):  # else only the vocoder or the reader can help
            moments_s.append(utterance.clock.end_s - playable_s)
        if utterance.unheard_s and utterance.clock.lead_s(now_s) >= PATIENT_LEAD_S:
            moments_s.append(utterance.clock.end_s - PATIENT_LEAD_S)  # then its chunk is due
        return min(moments_s) + _WAKE_LATE_S

    def _hold(self, utterance: UtteranceProgress, now_s: float) -> None:
        """Take an utterance out when it has reached its limit, and back in when enough of that is played."""
        limit_s = utterance.resume_s if utterance.is_held else utterance.lead_limit_s
        is_held = utterance.ahead_s(now_s) >= limit_s or self._is_unread(utterance)
        if is_held and not utterance.is_held:
            utterance.resume_s = _RESUME_SHARE * utterance.lead_limit_s
        utterance.is_held = is_held

    def _is_unread(self, utterance: UtteranceProgress) -> bool:
        """Return whether so much waits for the reader that no more is made."""
        return utterance.unread_s >= self._settings.lead_limit_s

    def _alone_s(self, utterance: UtteranceProgress) -> float:
        """Return the lead from which on an utterance waits for company."""
        return max(self._settings.comfort_lead_s, _ALONE_SHARE * utterance.lead_limit_s)

    def _has_room(self, utterance: UtteranceProgress, now_s: float) -> bool:
        """Return whether a held utterance may join others that run anyway."""
        is_full = utterance.ahead_s(now_s) > _JOIN_SHARE * utterance.lead_limit_s
        return not is_full and not self._is_unread(utterance)


def _is_live(utterance: UtteranceProgress) -> bool:
    """Return whether somebody listens while it is made."""
    return utterance.lead_limit_s < _LIVE_LEAD_S
