"""How rows are shared out."""

import pytest

from trt_engines.onnx_runtime.row_shards import shard_rows


@pytest.mark.parametrize(
    ("first", "end", "lanes", "expected"),
    [
        (0, 1, 2, [(0, 1)]),
        (2, 5, 2, [(2, 3), (3, 5)]),
        (0, 4, 2, [(0, 2), (2, 4)]),
        (3, 10, 2, [(3, 6), (6, 10)]),
        (0, 32, 1, [(0, 32)]),
        (0, 7, 4, [(0, 1), (1, 3), (3, 5), (5, 7)]),
        (0, 32, 4, [(0, 8), (8, 16), (16, 24), (24, 32)]),
    ],
)
def test_shards_are_even(first: int, end: int, lanes: int, expected: list[tuple[int, int]]) -> None:
    """Every row is in one shard, and no lane has two rows more than another."""
    assert expected == [(shard.start, shard.stop) for shard in shard_rows(first, end, lanes)]
