"""Who takes part in a step, and who waits: deadlines, leads, holds and budgets."""

import pytest

from server.config import SchedulingSettings
from server.utterance import FinishReason, SegmentId, UtteranceId
from tests.fakes import FRAME_S, LOOKAHEAD_FRAMES
from tests.server.scheduler_rig import SchedulerRig


def test_prompts_share_the_row_budget_of_a_step() -> None:
    """When many start at once, each step prefills as many rows as the settings allow."""
    rig = SchedulerRig(settings=SchedulingSettings(prefill_budget_s=0.0085))
    for number in range(4):
        rig.say(rig.open(number), row_count=30)
    steps = [rig.turn() for _ in range(2)]

    assert [[30, 30], [30, 30]] == [[work.row_count for work in step.prefill] for step in steps]


def test_a_prompt_waits_while_a_listener_is_about_to_run_out() -> None:
    """Nobody's first audio is bought with somebody else's underrun: prefill takes only the time that is to spare."""
    rig = SchedulerRig(step_s=0.05)
    rig.speak(0, segment_count=3)
    rig.run(0.4)
    rig.scheduler.planner.prefill_cost.observe(10, 1.0)  # prefill is very slow on this machine
    rig.say(rig.open(1))
    held_off = [rig.turn() for _ in range(2)]
    rig.run(1.0)

    assert [(), ()] == [step.prefill for step in held_off]
    assert rig.frame_counts[SegmentId(3)] > 0, "its own deadline came nearer and it had its turn"


def test_waiting_segments_get_slots_in_the_order_of_deadlines() -> None:
    """With too few slots, whoever came first is served first."""
    rig = SchedulerRig(slot_count=1)
    for number in range(3):
        rig.speak(number)
        rig.clock.advance(0.01)
    rig.run(5.0)

    assert [0, 1, 2] == [outcome.utterance_id for outcome in rig.ended()]


def test_the_nearest_deadline_steps_first_when_not_all_fit() -> None:
    """A batch limit leaves out those whose listeners have most to play."""
    rig = SchedulerRig(settings=SchedulingSettings(max_batch_rows=1, comfort_lead_s=60.0))
    ahead, behind = rig.open(0), rig.open(1)
    rig.say(ahead)
    rig.frames_per_segment = 100
    rig.run(0.2)
    rig.say(behind)
    step = rig.turn()

    assert [1] == [work.segment_id for work in step.decode]
    assert [1] == [work.segment_id for work in rig.turn().decode]


@pytest.mark.parametrize(("row_s", "expected"), [(0.002, [1]), (0.0, [0, 1])])
def test_those_with_a_comfortable_lead_wait_where_that_helps(row_s: float, expected: list[int]) -> None:
    """One without audio goes alone if steps cost by the row; where a full batch costs the same, nobody waits."""
    rig = SchedulerRig(frames_per_segment=100)
    rig.say(rig.open(0))
    rig.run(0.15)
    for rows in (1, 2, 4, 8) * 50:
        rig.scheduler.planner.step_cost.observe(rows, 0.003 + row_s * rows)
    rig.say(rig.open(1))

    assert expected == sorted(work.segment_id for work in rig.turn().decode)


def test_nobody_stands_aside_for_a_file() -> None:
    """Who takes everything in advance is not listening yet, so its first audio is no reason for others to wait."""
    rig = SchedulerRig(frames_per_segment=100)
    rig.say(rig.open(0, lead_limit_s=3600.0))
    rig.run(0.15)
    for rows in (1, 2, 4, 8) * 50:
        rig.scheduler.planner.step_cost.observe(rows, 0.003 + 0.002 * rows)
    rig.say(rig.open(1, lead_limit_s=3600.0))

    assert [0, 1] == sorted(work.segment_id for work in rig.turn().decode)


def test_an_utterance_at_its_lead_limit_sits_out() -> None:
    """Nothing is made that the listener would not hear for longer than the limit."""
    rig = SchedulerRig(frames_per_segment=200)
    rig.say(rig.open(0, lead_limit_s=1.0))
    rig.run(0.6)
    made_s = rig.frame_counts[SegmentId(0)] * FRAME_S

    assert 1.0 <= made_s <= 1.0 + 0.6 + 2 * FRAME_S
    assert rig.steps[-1].is_idle


def test_lead_stays_between_limit_and_a_part_of_it() -> None:
    """Over a long text the listener's lead never falls under three quarters of the limit once it was reached."""
    rig = SchedulerRig(frames_per_segment=300)
    utterance = rig.open(0, lead_limit_s=1.0)
    rig.say(utterance)
    rig.run(1.0)
    leads_s = []
    for _ in range(80):
        rig.run(0.05)
        made_s = rig.frame_counts[SegmentId(0)] * FRAME_S
        leads_s.append(made_s - (rig.clock() - 100.0))

    assert 1.0 + 3 * FRAME_S >= max(leads_s)
    assert 0.75 - 3 * FRAME_S <= min(leads_s)


def test_held_utterances_come_back_together() -> None:
    """When one resumes, all that have room fill up with it, so batches are full rather than many."""
    rig = SchedulerRig(frames_per_segment=250)
    for number in range(4):
        rig.say(rig.open(number, lead_limit_s=1.0))
        rig.run(0.12)
    rig.steps.clear()
    rig.run(6.0)
    sizes = [len(step.decode) for step in rig.steps if step.decode]

    assert sum(sizes) / len(sizes) > 3.0


@pytest.mark.parametrize("lead_limit_s", [0.01, 0.06, 0.11, 0.2])
def test_the_smallest_lead_limit_still_speaks(lead_limit_s: float) -> None:
    """A limit below a chunk, or a frame, slows the making down to real time and never stops it."""
    rig = SchedulerRig()
    rig.speak(0, segment_count=2, lead_limit_s=lead_limit_s)
    rig.run(3.0)

    assert [FinishReason.COMPLETED] == [outcome.reason for outcome in rig.ended()]


def test_who_is_well_ahead_steps_only_in_company() -> None:
    """A newcomer climbs alone to half of its limit, no further, and then fills up together with the others."""
    rig = SchedulerRig(slot_count=6, frames_per_segment=300)
    for number in range(5):
        rig.say(rig.open(number))
    rig.run(1.2)
    newcomer = rig.say(rig.open(5))
    rig.steps.clear()
    rig.run(4.0)
    alone = sum([newcomer] == [work.segment_id for work in step.decode] for step in rig.steps)
    rows = [len(step.decode) for step in rig.steps if step.decode]

    assert alone <= round(1.0 / FRAME_S) + LOOKAHEAD_FRAMES + 1
    assert sum(rows) / len(rows) > 4.0
    assert min(rig.spares_s) > 0.0


def test_one_who_waits_for_company_goes_alone_in_time() -> None:
    """Nobody comes, so half of the limit is where it goes on by itself, and its listener never waits."""
    rig = SchedulerRig(frames_per_segment=400)
    for number, lead_limit_s in enumerate((2.0, 40.0, 40.0)):
        rig.say(rig.open(number, lead_limit_s=lead_limit_s))
    rig.run(2.5)
    rig.steps.clear()
    rig.spares_s.clear()
    rig.run(6.0)
    first = [work.segment_id for step in rig.steps for work in step.decode].count(SegmentId(0))

    assert first >= 4.0 / FRAME_S
    assert min(rig.spares_s) > 0.1


def test_the_vocoder_is_given_more_while_every_listener_has_some_audio() -> None:
    """Large batches cost less; a listener who has nothing must not wait for one to end."""
    rig = SchedulerRig(slot_count=8, frames_per_segment=200, settings=SchedulingSettings(vocode_budget_s=0.004))
    for number in range(6):
        rig.say(rig.open(number))
    rig.run(1.0)
    rig.say(rig.open(6))
    sizes = {False: [0], True: [0]}
    for _ in range(400):
        is_behind = rig.frame_counts.get(SegmentId(6), 0) < 6
        sizes[is_behind] += [sum(work.frame_count for work in work.vocode) for work in (rig.turn(),)]
        rig.clock.advance(0.002)

    assert max(sizes[False]) > 16 >= max(sizes[True])


def test_capacity_counts_every_batch_of_the_vocoder() -> None:
    """50 ms are enough for 37 frames in batches of 12, though one batch of 46 would fit; a slow talker may be less."""
    rig = SchedulerRig(settings=SchedulingSettings(vocode_budget_s=0.01))
    planner = rig.scheduler.planner
    for frames in (8, 16) * 400:
        planner.vocode_cost.observe(frames, 0.004 + 0.001 * frames)
        planner.step_cost.observe(frames, 0.005 + 0.0005 * frames)
    by_vocoder = planner.capacity(0.0501)
    for rows in (8, 16) * 400:
        planner.step_cost.observe(rows, 0.005 + 0.005 * rows)

    assert (37, 9) == (by_vocoder, planner.capacity(0.0501))


def test_an_endless_lead_is_made_at_full_speed() -> None:
    """Who asks for no limit gets everything as fast as the engine makes it."""
    rig = SchedulerRig(frames_per_segment=200)
    rig.speak(0, lead_limit_s=float("inf"))
    rig.run(201 * rig.step_s + 0.01)

    assert [FinishReason.COMPLETED] == [outcome.reason for outcome in rig.ended()]


def test_an_unread_utterance_is_held_and_comes_back() -> None:
    """A reader that stops is not made audio for; when it has read, it goes on."""
    rig = SchedulerRig(frames_per_segment=300)
    utterance = rig.open(0, lead_limit_s=float("inf"))
    segment = rig.say(utterance)
    rig.stopped.add(utterance)
    rig.run(5.0)
    held_s = rig.delivered_s[utterance]
    rig.stopped.clear()
    rig.run(1.0)

    assert 2.0 <= held_s <= 2.0 + FRAME_S
    assert rig.frame_counts[segment] > 100


def test_a_stalled_utterance_leaves_the_others_alone() -> None:
    """The neighbour of a reader that stopped is spoken exactly as if it were alone."""
    alone, beside = SchedulerRig(), SchedulerRig(frames_per_segment=100)
    beside.stopped.add(beside.open(0))
    beside.say(UtteranceId(0))
    beside.run(5.0)
    beside.frames_per_segment = 12
    for rig in (alone, beside):
        rig.speak(1)
        rig.spares_s.clear()
        rig.run(2.0)

    assert [outcome.duration_s for outcome in alone.ended()] == [outcome.duration_s for outcome in beside.ended()]
    assert pytest.approx(alone.spares_s) == beside.spares_s


def test_no_more_than_two_vocoder_batches_are_under_way() -> None:
    """A third would only make urgent chunks wait behind it."""
    rig = SchedulerRig(slot_count=8)
    for number in range(8):
        rig.speak(number)
        rig.step()
    for _ in range(20):
        rig.step()

    assert 2 == len(rig.vocoding)


def test_silence_before_text_is_no_underrun() -> None:
    """A listener who waits for text to be written has not been failed by the server."""
    rig = SchedulerRig()
    utterance = rig.open(0)
    rig.say(utterance)
    rig.run(3.0)
    rig.spares_s.clear()
    rig.say(utterance)
    rig.run(3.0)

    assert rig.spares_s
    assert min(rig.spares_s) > 0.0


def test_a_slow_engine_is_reported_as_underruns() -> None:
    """When frames take longer than they last, chunks come after they were needed."""
    rig = SchedulerRig(step_s=FRAME_S * 1.5)
    rig.speak(0, segment_count=2)
    rig.run(6.0)

    assert min(rig.spares_s) < 0.0


def test_a_fast_engine_never_lets_a_listener_wait() -> None:
    """With steps well below a frame there is no underrun for any number of utterances that fit."""
    rig = SchedulerRig(slot_count=16, step_s=FRAME_S / 3, frames_per_segment=60)
    for number in range(16):
        rig.speak(number, segment_count=3)
        rig.run(0.13)
    rig.run(20.0)

    assert 16 == len(rig.ended())
    assert min(rig.spares_s) > 0.0


def test_everybody_is_served_though_others_keep_coming() -> None:
    """With one slot and a newcomer at every step the first in line still has its turn, and the last as well."""
    rig = SchedulerRig(slot_count=2, frames_per_segment=4)
    for number in range(40):
        rig.speak(number)
        rig.turn()
    rig.run(10.0)

    assert set(range(40)) == {outcome.utterance_id for outcome in rig.ended()}
