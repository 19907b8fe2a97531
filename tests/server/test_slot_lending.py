"""Slots follow the segments that hold them, and come back whatever becomes of those."""

from server.kv_cache import SlotPool
from server.progress import Ramp, SegmentProgress, UtteranceProgress
from server.slot_lending import SlotLending
from server.utterance import Segment, SegmentId, UtteranceId


def lending(slot_count: int = 1) -> tuple[SlotLending, SlotPool, SlotPool]:
    """Slots of both kinds, and their pools."""
    talker, vocoder = SlotPool(slot_count), SlotPool(slot_count)
    return SlotLending(talker, vocoder), talker, vocoder


def utterance(number: int = 0) -> UtteranceProgress:
    """An utterance with one segment at work."""
    each = UtteranceProgress(UtteranceId(number), Ramp(2, 8, 2.0, 0.05, 1), 2.0)
    each.active.append(SegmentProgress(Segment(SegmentId(number), each.id, 0, 10, 300)))
    return each


def test_a_freed_talker_slot_is_reported_once() -> None:
    """The engine hears of it with the next step, also when the slot is lent again at once."""
    slots, _, _ = lending()
    first, second = utterance(0), utterance(1)
    slots.lend_talker_slot(first.active[0])
    slots.free_talker_slot(first.active[0])
    slots.lend_talker_slot(second.active[0])

    assert (0, (0,), ()) == (second.active[0].slot, slots.take_released(), slots.take_released())
    slots.check_integrity([second])


def test_a_slot_lent_and_freed_twice_is_reported_once() -> None:
    """Between two steps a slot can change hands several times; the engine frees it once."""
    slots, _, _ = lending()
    for number in range(3):
        part = utterance(number).active[0]
        slots.lend_talker_slot(part)
        slots.free_talker_slot(part)

    assert (0,) == slots.take_released()


def test_without_a_free_slot_a_segment_waits() -> None:
    """Lending nothing is no error."""
    slots, _, _ = lending()
    first, second = utterance(0), utterance(1)
    for each in (first, second):
        slots.lend_talker_slot(each.active[0])

    assert (0, None) == (first.active[0].slot, second.active[0].slot)


def test_an_utterance_gives_everything_back() -> None:
    """Both slots are free afterwards."""
    slots, talker, vocoder = lending()
    each = utterance()
    slots.lend_talker_slot(each.active[0])
    slots.lend_vocoder_slot(each)
    slots.give_back(each)

    assert (0, 0) == (talker.used_count, vocoder.used_count)


def test_what_the_vocoder_works_on_comes_back_later() -> None:
    """Its slot is an orphan until the vocoder has done, and nobody gets it before."""
    slots, _, vocoder = lending()
    each = utterance()
    slots.lend_vocoder_slot(each)
    each.is_vocoding = True
    slots.give_back(each)
    used = vocoder.used_count
    slots.check_integrity([])
    slots.free_orphan(SegmentId(0))

    assert (1, 0) == (used, vocoder.used_count)
