"""Random numbers that depend on nothing but (seed, step, column): what a stream says is the same in any company.

With m the finalizer of splitmix64 and g = 0x9E3779B97F4A7C15, all modulo 2**64:

    a = m(seed + g)
    b = m(a + (step_index + 1) * g)
    u = m(b + (column + 1) * g) >> 40, divided by 2**24

so u is a float32 in [0, 1 - 2**-24], and exact.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_MASK_64 = (1 << 64) - 1


def uniform(seeds: Sequence[int], step_indices: Sequence[int], column_count: int) -> NDArray[np.float32]:
    """Draw the numbers of one step for several segments.

    Args:
        seeds: One per segment; any integers, taken modulo 2**64.
        step_indices: One per segment, from 0.
        column_count: Numbers per segment.

    Returns:
        float32 [segments, column_count] in [0, 1).
    """
    seed = np.array([value & _MASK_64 for value in seeds], np.uint64)
    step = np.array(step_indices, np.uint64)
    column = np.arange(1, column_count + 1, dtype=np.uint64)
    per_segment = _mix(seed + _GOLDEN)
    per_step = _mix(per_segment + (step + np.uint64(1)) * _GOLDEN)
    bits = _mix(per_step[:, None] + column * _GOLDEN) >> np.uint64(40)
    return bits.astype(np.float32) * np.float32(2.0**-24)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64, a bijection of 64-bit words in which every bit depends on every other."""
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))
