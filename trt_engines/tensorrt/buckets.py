"""Batch sizes that plans are built for: 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, ... and the largest itself."""

from collections.abc import Sequence

_COARSE_UNTIL = 16


def row_buckets(largest: int) -> tuple[int, ...]:
    """Return the buckets up to `largest`, which is always one.

    >>> row_buckets(40)
    (1, 2, 4, 8, 16, 24, 32, 40)
    """
    if largest < 1:
        raise ValueError(f"The largest bucket is {largest} but must be at least 1.")
    powers = [1 << exponent for exponent in range(largest.bit_length())]
    between = [3 * power // 2 for power in powers if power >= _COARSE_UNTIL]
    return tuple(sorted({bucket for bucket in (*powers, *between) if bucket < largest} | {largest}))


def covering(buckets: Sequence[int], needed: int) -> int:
    """Return the smallest bucket that holds `needed`; buckets ascend.

    Raises:
        ValueError: none is large enough.
    """
    for bucket in buckets:
        if bucket >= needed:
            return bucket
    raise ValueError(f"{needed} does not fit into the largest bucket, {buckets[-1]}; build plans with a larger one.")
