"""What the scheduler promises, one promise at a time."""

import dataclasses

import pytest

from server.config import SchedulingSettings
from server.step import Failure
from server.utterance import FinishReason, SegmentId
from tests.fakes import FRAME_S, FakeClock
from tests.server.scheduler_rig import LIMITS, STALL_TIMEOUT_S, SchedulerRig


def test_a_lone_utterance_goes_from_prompt_to_end() -> None:
    """Prefill, one step a frame, chunks on a ramp, the last one with the end, then the utterance is over."""
    rig = SchedulerRig()
    rig.speak(0)
    rig.run(2.0)
    works = [work for step in rig.steps for work in step.vocode]

    assert [10] == [work.row_count for step in rig.steps for work in step.prefill]
    assert list(range(13)) == [work.step_index for step in rig.steps for work in step.decode]
    assert [2, 6, 12] == [work.audio_end_frames for work in works]
    assert [(True, False), (False, False), (False, True)] == [(work.is_first, work.is_last) for work in works]
    assert [FinishReason.COMPLETED] == [outcome.reason for outcome in rig.ended()]
    assert pytest.approx(12 * FRAME_S) == rig.ended()[0].duration_s


def test_the_first_frame_is_made_in_the_step_of_the_prefill() -> None:
    """A prompt that fits one chunk costs no step of its own."""
    rig = SchedulerRig()
    rig.speak(0)
    step = rig.turn()

    assert (1, 1) == (len(step.prefill), len(step.decode))


def test_a_long_prompt_is_prefilled_in_chunks() -> None:
    """Prompts longer than the engine's chunk take several steps, and frames come after the last."""
    rig = SchedulerRig()
    rig.say(rig.open(0), row_count=150)
    steps = [rig.turn() for _ in range(3)]

    assert [(0, 64), (64, 64), (128, 22)] == [(s.prefill[0].start, s.prefill[0].row_count) for s in steps]
    assert [False, False, True] == [step.prefill[0].is_last for step in steps]
    assert [0, 0, 1] == [len(step.decode) for step in steps]


def test_a_reader_that_is_away_for_too_long_loses_its_slot() -> None:
    """The stall timeout ends the utterance and frees what it holds."""
    rig = SchedulerRig(frames_per_segment=300)
    utterance = rig.open(0)
    rig.say(utterance)
    rig.stopped.add(utterance)
    rig.run(STALL_TIMEOUT_S + 3.0)

    assert [Failure.STALLED] == [outcome.reason for outcome in rig.ended()]
    assert 0 == rig.talker_slots.used_count + rig.vocoder_slots.used_count


def test_the_deadline_ends_an_utterance_within_a_step() -> None:
    """At its deadline an utterance ends with that reason, and its slots are free in the same step."""
    clock = FakeClock()
    rig = SchedulerRig(clock=clock, frames_per_segment=300)
    rig.say(rig.open(0, deadline_s=clock() + 0.5))
    rig.run(0.5)
    step = rig.turn()

    assert [Failure.DEADLINE] == [outcome.reason for outcome in rig.ended()]
    assert (0,) == step.released_slots or (0,) == rig.steps[-2].released_slots
    assert 0 == rig.talker_slots.used_count


def test_an_idle_scheduler_wakes_for_a_deadline() -> None:
    """An utterance that only waits for text ends on time all the same."""
    rig = SchedulerRig()
    rig.open(0, deadline_s=rig.clock() + 7.0)
    rig.turn()

    assert rig.clock() + 7.0 == rig.scheduler.next_wake_s(rig.clock())


def test_cancel_frees_the_slots_at_the_next_step() -> None:
    """What was lent to a cancelled utterance is released by the very next step, and lent again in it."""
    rig = SchedulerRig(slot_count=1)
    cancelled = rig.speak(0)
    rig.turn()
    rig.scheduler.cancel(cancelled)
    rig.speak(1)
    step = rig.turn()

    assert ((0,), (SegmentId(0),)) == (step.released_slots, step.dropped)
    assert [SegmentId(1)] == [work.segment_id for work in step.decode]
    assert [] == rig.ended()


def test_cancel_while_vocoding_keeps_the_vocoder_slot_until_it_is_done() -> None:
    """The vocoder may still write to a slot whose utterance is gone; nobody else gets it before that ends."""
    rig = SchedulerRig()
    cancelled = rig.speak(0)
    while not rig.vocoding:
        rig.step()
    rig.scheduler.cancel(cancelled)
    rig.step()
    used = (rig.talker_slots.used_count, rig.vocoder_slots.used_count)
    rig.scheduler.check_integrity()
    rig.vocode()

    assert (0, 1) == used
    assert 0 == rig.vocoder_slots.used_count


def test_cancel_of_what_is_over_does_nothing() -> None:
    """Cancel and end may cross; the late one finds nothing to do, and late segments are dropped."""
    rig = SchedulerRig()
    utterance = rig.speak(0)
    rig.run(2.0)
    rig.scheduler.cancel(utterance)
    late = rig.say(utterance)
    step = rig.turn()

    assert (late,) == step.dropped
    rig.scheduler.check_integrity()


def test_segments_of_an_utterance_are_voiced_in_order() -> None:
    """The next segment is made while the last is played, and its audio comes after all of the last one's."""
    rig = SchedulerRig()
    rig.speak(0, segment_count=3)
    rig.run(4.0)
    order = [work.segment_id for step in rig.steps for work in step.vocode]

    assert sorted(order) == order
    assert [0, 1, 2] == [outcome.segment_id for outcome in rig.segments_ended()]
    assert 1 == len(rig.ended())


def test_a_runaway_segment_is_ended_at_its_frame_limit() -> None:
    """A talker that does not stop is stopped, and the utterance says so."""
    rig = SchedulerRig(frames_per_segment=10**6)
    utterance = rig.open(0)
    segment = rig.say(utterance, max_frames=20)
    rig.scheduler.end_text(utterance)
    rig.run(3.0)

    assert 20 == rig.frame_counts[segment]
    assert [FinishReason.LENGTH] == [outcome.reason for outcome in rig.ended()]


def test_a_segment_ends_when_the_cache_is_full() -> None:
    """Prompt rows and steps together never exceed the positions of a slot."""
    rig = SchedulerRig(frames_per_segment=10**6)
    utterance = rig.open(0, lead_limit_s=float("inf"))
    segment = rig.say(utterance, row_count=390, max_frames=10**6)
    rig.scheduler.end_text(utterance)
    rig.run(1.0)

    assert LIMITS.max_positions - 390 == rig.frame_counts[segment]
    assert [FinishReason.LENGTH] == [outcome.reason for outcome in rig.ended()]


def test_a_segment_without_rows_ends_in_its_turn() -> None:
    """Nothing to speak is no error; it ends after what was said before it."""
    rig = SchedulerRig()
    utterance = rig.open(0)
    spoken, empty = rig.say(utterance), rig.say(utterance, row_count=0, max_frames=0)
    rig.scheduler.end_text(utterance)
    rig.run(2.0)

    assert [(spoken, FinishReason.COMPLETED), (empty, FinishReason.EMPTY)] == [
        (outcome.segment_id, outcome.reason) for outcome in rig.segments_ended()
    ]
    assert [FinishReason.COMPLETED] == [outcome.reason for outcome in rig.ended()]


def test_an_utterance_without_text_ends_as_empty() -> None:
    """No text at all is an utterance of no audio."""
    rig = SchedulerRig()
    rig.speak(0, segment_count=0)
    rig.turn()

    assert [(FinishReason.EMPTY, 0.0)] == [(outcome.reason, outcome.duration_s) for outcome in rig.ended()]


def test_a_failed_slot_ends_its_utterance_only() -> None:
    """An engine error on one row is that utterance's misfortune; the other goes on."""
    rig = SchedulerRig()
    rig.speak(0)
    rig.speak(1)
    rig.step(failing=frozenset({SegmentId(0)}))
    rig.run(2.0)

    assert [(0, Failure.ENGINE), (1, FinishReason.COMPLETED)] == [(e.utterance_id, e.reason) for e in rig.ended()]


def test_a_failure_of_the_vocoder_ends_its_utterance_only() -> None:
    """The same for the other half of the engine."""
    rig = SchedulerRig()
    rig.speak(0)
    rig.speak(1)
    while not rig.vocoding:
        rig.step()
    rig.vocode(failing=frozenset({SegmentId(1)}))
    rig.run(2.0)

    assert [(1, Failure.ENGINE), (0, FinishReason.COMPLETED)] == [(e.utterance_id, e.reason) for e in rig.ended()]


def test_settings_are_frozen() -> None:
    """A policy cannot be changed under a running scheduler."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        SchedulingSettings().lead_limit_s = 1.0  # type: ignore[misc]
