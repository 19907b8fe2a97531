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


def shard_rows(first: int, end: int, lane_count: int) -> list[slice]:
    """Cut rows first..end-1 into consecutive shards of equal size, give or take one, at most one per lane."""
    count = end - first
    shard_count = min(lane_count, count)
    edges = [first + count * i // shard_count for i in range(shard_count + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]
