"""Rows without holes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trt_engines.slot_rows import RowMove, SlotRows


def test_the_last_row_fills_the_hole() -> None:
    """A released row gets the content of the last one."""
    rows = SlotRows()
    for slot in (7, 3, 5):
        rows.occupy(slot)

    assert RowMove(2, 0) == rows.release(7)
    assert (0, 1) == (rows[5], rows[3])


def test_the_last_row_leaves_no_hole() -> None:
    """Releasing the last row moves nothing."""
    rows = SlotRows()
    rows.occupy(4)

    assert rows.release(4) is None
    assert 4 not in rows


def test_a_slot_has_one_row() -> None:
    """A second row for the same slot is refused."""
    rows = SlotRows()
    rows.occupy(4)

    with pytest.raises(ValueError, match=r"Slot 4 has row 0 already; release it first\."):
        rows.occupy(4)


@settings(deadline=None)  # a busy machine is not a failure
@given(st.lists(st.integers(0, 5)))
def test_rows_hold_what_their_slots_put_there(slots: list[int]) -> None:
    """After any order of joins and leaves, each slot finds its own content and the rows are 0, 1, 2, ..."""
    rows, memory, inside = SlotRows(), [-1] * 6, set[int]()
    for slot in slots:
        if slot in inside:
            move = rows.release(slot)
            inside.remove(slot)
            if move is not None:
                memory[move.target] = memory[move.source]
        else:
            memory[rows.occupy(slot)] = slot
            inside.add(slot)

    assert {slot: slot for slot in inside} == {slot: memory[rows[slot]] for slot in inside}
    assert list(range(len(rows))) == sorted(rows[slot] for slot in inside)
