"""How the rows of one step are shared out over lanes.

Measured with the default voice on two cores, 192 positions, in ms (`python -m benchmarks.step_lanes`): one thread, a
session with a pool of two threads, two sessions, and what is done here, one session run by two threads at once.

    rows            1                    2                    8                    32
    float32    3.8 3.2  -   -       3.2 3.0 3.5 2.3      6.1 4.5 4.8 3.6      16.0 11.5 10.0 9.4
    8-bit      1.2 1.6  -   -       1.6 1.9 1.5 1.3      4.4 3.9 3.7 2.8      15.6 11.1  8.7 8.4

Only a single row of float32 would gain from a pool, 0.6 ms. That is not worth a second copy of the weights, nor a pool
that waits for its second thread whenever the machine is busy.
"""

import itertools
from collections.abc import Sequence

IDLE_ROWS = 8
"""A run of its own costs about as much as this many rows more in another run, so a wider gap is worth a cut."""


def shard_rows(rows: Sequence[int], lane_count: int) -> list[slice]:
    """Cut what covers the given rows into consecutive shards that leave out wide gaps and keep every lane busy.

    Args:
        rows: Rows to run, in rising order, at least one. Idle rows between them are run along unless they are many.
        lane_count: Threads that take the shards in turn.
    """
    shards = _without_gaps(rows)
    even = -(-sum(map(_width, shards)) // lane_count)
    while True:
        widest = max(shards, key=_width)
        needs_lanes = len(shards) < lane_count and _width(widest) > 1
        if not needs_lanes and _width(widest) <= even + IDLE_ROWS:
            return shards
        middle, at = widest.start + _width(widest) // 2, shards.index(widest)
        shards[at : at + 1] = [slice(widest.start, middle), slice(middle, widest.stop)]


def _without_gaps(rows: Sequence[int]) -> list[slice]:
    wide = [i for i, (row, following) in enumerate(itertools.pairwise(rows), 1) if following - row > IDLE_ROWS]
    return [slice(rows[first], rows[end - 1] + 1) for first, end in itertools.pairwise([0, *wide, len(rows)])]


def _width(shard: slice) -> int:
    count: int = shard.stop - shard.start
    return count
