"""Any storm of joins, texts, cancels, failures, slow readers and deadlines leaves every slot free nobody stuck."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from server.config import SchedulingSettings
from server.step import Step
from server.utterance import SegmentId, UtteranceId
from tests.server.scheduler_rig import STALL_TIMEOUT_S, SchedulerRig

_LEADS_S = st.sampled_from([0.02, 0.3, 2.0, float("inf")])
_POLICIES = st.builds(
    SchedulingSettings,
    prefill_budget_s=st.sampled_from([0.0, 0.004, 0.02]),
    max_batch_rows=st.sampled_from([0, 1, 2]),
    vocode_budget_s=st.sampled_from([0.0, 0.004, 0.02]),
    comfort_lead_s=st.sampled_from([0.0, 0.6]),
    lead_limit_s=st.sampled_from([0.05, 2.0]),
    chunk_growth=st.sampled_from([1.0, 2.0]),
)


class SchedulerStorm(RuleBasedStateMachine):
    """Talks to one scheduler in every order that the worker could."""

    @initialize(slot_count=st.integers(1, 4), policy=_POLICIES, frames=st.sampled_from([0, 7, 60]))
    def start(self, slot_count: int, policy: SchedulingSettings, frames: int) -> None:
        """Make a scheduler, often with fewer slots than utterances."""
        self.rig = SchedulerRig(slot_count=slot_count, settings=policy, frames_per_segment=frames)
        self.open: list[UtteranceId] = []
        self.texted: list[UtteranceId] = []
        self.cancelled: set[UtteranceId] = set()
        self.spoken: dict[UtteranceId, list[SegmentId]] = {}

    @rule(lead_limit_s=_LEADS_S, has_deadline=st.booleans())
    def join(self, lead_limit_s: float, has_deadline: bool) -> None:
        """An utterance joins."""
        number = len(self.spoken)
        deadline_s = self.rig.clock() + 1.0 if has_deadline else float("inf")
        utterance = self.rig.open(number, lead_limit_s=lead_limit_s, deadline_s=deadline_s)
        self.open.append(utterance)
        self.texted.append(utterance)
        self.spoken[utterance] = []

    @precondition(lambda self: self.texted)
    @rule(data=st.data(), row_count=st.sampled_from([0, 1, 10, 70, 150]))
    def say(self, data: st.DataObject, row_count: int) -> None:
        """Text comes."""
        utterance = data.draw(st.sampled_from(self.texted))
        self.spoken[utterance].append(self.rig.say(utterance, row_count))

    @precondition(lambda self: self.texted)
    @rule(data=st.data())
    def end_text(self, data: st.DataObject) -> None:
        """No more text comes."""
        utterance = data.draw(st.sampled_from(self.texted))
        self.texted.remove(utterance)
        self.rig.scheduler.end_text(utterance)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """The caller goes away, perhaps after the end."""
        utterance = data.draw(st.sampled_from(self.open))
        self.open.remove(utterance)
        if utterance in self.texted:
            self.texted.remove(utterance)
        self.rig.scheduler.cancel(utterance)
        self.cancelled.add(utterance)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        """A reader stops, or comes back."""
        self.rig.stopped ^= {data.draw(st.sampled_from(self.open))}

    @rule(turns=st.integers(1, 12), failing=st.sets(st.integers(0, 20).map(SegmentId), max_size=1))
    def turn(self, turns: int, failing: set[SegmentId]) -> None:
        """The model thread takes some turns; now and then a row fails."""
        for _ in range(turns):
            self._check(self.rig.step(failing=frozenset(failing)))

    @precondition(lambda self: self.rig.vocoding)
    @rule(failing=st.sets(st.integers(0, 20).map(SegmentId), max_size=1))
    def vocode(self, failing: set[SegmentId]) -> None:
        """The vocoder finishes a batch; now and then an item fails."""
        self.rig.vocode(failing=frozenset(failing))

    @rule(seconds=st.sampled_from([0.01, 0.3, 2.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.rig.clock.advance(seconds)

    @invariant()
    def nothing_is_lost(self) -> None:
        """Slots are held by those who know of them."""
        if hasattr(self, "rig"):
            self.rig.scheduler.check_integrity()

    def teardown(self) -> None:
        """Once all readers read and all text has ended, everything comes to an end by itself."""
        if not hasattr(self, "rig"):
            return
        self.rig.stopped.clear()
        for utterance in self.open:
            self.rig.scheduler.end_text(utterance)
        self.rig.run(STALL_TIMEOUT_S + len(self.spoken) * 10.0)
        self.rig.scheduler.check_integrity()
        ended = [outcome.utterance_id for outcome in self.rig.ended()]

        assert (0, 0) == (self.rig.talker_slots.used_count, self.rig.vocoder_slots.used_count)
        assert len(set(ended)) == len(ended)
        assert set(self.open) <= set(ended)
        self._check_order()

    def _check(self, step: Step) -> None:
        """A step never uses a slot twice, nor a batch larger than it may be."""
        slots = [work.slot for work in step.decode]
        assert len(set(slots)) == len(slots)
        limit = self.rig.settings.max_batch_rows or self.rig.slot_count
        assert len(slots) <= limit
        assert len({work.slot for work in step.vocode}) == len(step.vocode)

    def _check_order(self) -> None:
        """Segments end in the order in which they were said."""
        for utterance, said in self.spoken.items():
            ended = [out.segment_id for out in self.rig.segments_ended() if out.utterance_id == utterance]
            assert said[: len(ended)] == ended


SchedulerStorm.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
test_no_storm_loses_a_slot = SchedulerStorm.TestCase
