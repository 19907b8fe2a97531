"""The numbers that drive sampling."""

import numpy as np
import pytest

from trt_engines.randomness import uniform

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(value: int) -> int:
    """The finalizer of splitmix64, in Python's whole numbers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


@pytest.mark.parametrize(("seed", "step", "column"), [(0, 0, 0), (1, 2, 3), (2**64 - 1, 400, 8), (-5, 7, 1)])
def test_numbers_follow_the_documented_formula(seed: int, step: int, column: int) -> None:
    """Each number is the 24 upper bits of a hash of seed, step and column."""
    per_step = mix((mix((seed + GOLDEN) & MASK) + (step + 1) * GOLDEN) & MASK)
    expected = (mix((per_step + (column + 1) * GOLDEN) & MASK) >> 40) / 2**24

    assert expected == uniform([seed], [step], column + 1)[0, column]


def test_numbers_do_not_depend_on_the_batch() -> None:
    """A row is the same alone and among others, with few columns and with many."""
    together = uniform([3, 9, 27], [5, 0, 5], 9)

    assert np.array_equal(together[1:2, :4], uniform([9], [0], 4))
    assert (3, 9) == together.shape
    assert np.float32 == together.dtype


def test_numbers_are_uniform_and_below_one() -> None:
    """Over seeds, steps and columns, each of 64 bins gets its share (chi-square, 63 degrees, far out at 120)."""
    numbers = uniform([s for s in range(100) for _ in range(100)], list(range(100)) * 100, 8)
    counts = np.histogram(numbers, 64, (0, 1))[0]
    expected = numbers.size / 64

    assert 0 <= numbers.min()
    assert numbers.max() < 1
    assert ((counts - expected) ** 2 / expected).sum() < 120


def test_neighbors_are_independent() -> None:
    """Numbers of neighboring seeds, steps and columns are not correlated."""
    numbers = uniform([s for s in range(100) for _ in range(100)], list(range(100)) * 100, 8).reshape(100, 100, 8)
    centered = numbers - numbers.mean()

    for axis in range(3):
        first, second = (np.delete(centered, index, axis) for index in (-1, 0))
        assert abs((first * second).mean() / centered.var()) < 0.02
