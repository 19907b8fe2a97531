"""Aligned examples: what the talker learns must be what the engine's stop rule and pointer do."""

import numpy as np
import pytest

from build_engines.networks.pointer_talker_config import BEGIN_ADVANCE, END_ADVANCE
from training.tokens import make_example


def replayed(advances: np.ndarray) -> list[int]:
    """The pointer after each frame, as the engine moves it."""
    pointer, seen = 0, []
    for advance in advances:
        pointer += (advance & 1) + (advance >> 1)
        seen.append(int(pointer))
    return seen


@pytest.mark.parametrize("seed", range(5))
def test_advances_replay_to_the_pointers_and_reach_the_last_phoneme(seed: int) -> None:
    """Running the learned advances through the engine's rule gives the learned pointers."""
    rng = np.random.default_rng(seed)
    durations = rng.integers(1, 9, 30)
    durations[-1] += durations.sum() % 2
    codes = rng.integers(0, 1000, (durations.sum() // 2, 4))

    example = make_example(np.arange(30), durations, codes)

    assert example.advances[-1] == END_ADVANCE
    assert replayed(example.advances[:-1]) == example.pointers[:-1].tolist()
    assert example.pointers[-1] == 29


def test_each_row_is_the_frame_before_its_target() -> None:
    """Row 0 begins; row t + 1 holds the advance, pointer and codes that were the targets of row t."""
    codes = np.arange(12).reshape(3, 4)

    example = make_example(np.array([5, 6]), np.array([3, 3]), codes)

    assert example.rows[0].tolist() == [-1, BEGIN_ADVANCE, 0, 0, 0, 0, 0, 0]
    assert example.rows[1:, 4:].tolist() == codes.tolist()
    assert example.rows[1:, 1].tolist() == example.advances[:-1].tolist()
    assert example.rows[1:, 2].tolist() == example.pointers[:-1].tolist()


def test_dwell_counts_half_frames_since_the_phoneme_began() -> None:
    """A phoneme of five halves has dwelt 1 and 3 halves at the ends of its first frames."""
    example = make_example(np.array([5, 6]), np.array([5, 1]), np.zeros((3, 4), np.int64))

    assert example.rows[1:, 3].tolist() == [1, 3, 0]
