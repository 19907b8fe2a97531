"""How rows are shared out."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trt_engines.onnx_runtime.row_shards import shard_rows


@pytest.mark.parametrize(
    ("rows", "lanes", "expected"),
    [
        ([3], 2, [(3, 4)]),
        ([2, 3, 4], 2, [(2, 3), (3, 5)]),
        (range(4), 2, [(0, 2), (2, 4)]),
        (range(32), 1, [(0, 32)]),
        (range(32), 4, [(0, 8), (8, 16), (16, 24), (24, 32)]),
        ([0, 5, 31], 2, [(0, 6), (31, 32)]),
        ([1, 12, 40], 2, [(1, 2), (12, 13), (40, 41)]),
        ([0, 8], 1, [(0, 9)]),
        ([*range(30), 63], 2, [(0, 15), (15, 30), (63, 64)]),
    ],
)
def test_wide_gaps_are_left_out_and_lanes_kept_busy(
    rows: Sequence[int], lanes: int, expected: list[tuple[int, int]]
) -> None:
    """A gap of few idle rows is run along, a wider one cut out; a lane without work gets half of the widest shard."""
    assert expected == [(shard.start, shard.stop) for shard in shard_rows(rows, lanes)]


@given(rows=st.sets(st.integers(0, 63), min_size=1), lanes=st.integers(1, 8))
def test_every_row_is_in_one_shard(rows: set[int], lanes: int) -> None:
    """Shards rise, never overlap, and cover all that was asked for."""
    shards = shard_rows(sorted(rows), lanes)
    covered = [row for shard in shards for row in range(shard.start, shard.stop)]

    assert sorted(set(covered)) == covered
    assert rows <= set(covered)
