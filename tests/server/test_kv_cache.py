"""Slots are lent once, taken back from who holds them, and never lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.kv_cache import SlotPool
from server.utterance import SegmentId


def test_lends_the_lowest_free_slot() -> None:
    """A slot that comes back goes out again before any higher one."""
    pool = SlotPool(3)
    slots = [pool.allocate(SegmentId(i)) for i in range(3)]
    pool.free(0, SegmentId(0))
    pool.free(1, SegmentId(1))

    assert [0, 1, 2] == slots
    assert 0 == pool.allocate(SegmentId(3))


def test_lends_nothing_when_all_are_lent() -> None:
    """An empty pool answers with None."""
    pool = SlotPool(1)
    pool.allocate(SegmentId(0))

    assert pool.allocate(SegmentId(1)) is None
    assert (0, 1) == (pool.free_count, pool.used_count)


def test_takes_a_slot_back_from_its_holder_only() -> None:
    """Freeing what another segment holds is a bug of the caller."""
    pool = SlotPool(2)
    pool.allocate(SegmentId(7))

    with pytest.raises(AssertionError, match="slot 0 is not held by segment 8"):
        pool.free(0, SegmentId(8))


def test_tells_who_holds_what() -> None:
    """Holders are listed by slot."""
    pool = SlotPool(4)
    pool.allocate(SegmentId(5))
    pool.allocate(SegmentId(6))

    assert {0: 5, 1: 6} == pool.holders()


@given(st.lists(st.integers(0, 9)))
def test_stays_whole_whatever_is_lent_and_freed(choices: list[int]) -> None:
    """After any order of lending and freeing every slot is free or lent, once."""
    pool, holders = SlotPool(4), dict[int, SegmentId]()
    for number, choice in enumerate(choices):
        if choice in holders:
            pool.free(choice, holders.pop(choice))
        elif (slot := pool.allocate(SegmentId(number))) is not None:
            holders[slot] = SegmentId(number)
        pool.check_integrity()

    assert holders == pool.holders()
