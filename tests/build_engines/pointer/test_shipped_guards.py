"""The guards of the step graph in the bundle that ships: no phoneme is held for ever, and the end comes."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from build_engines.networks.pointer_talker_config import END_ADVANCE, PointerTalkerConfig
from build_engines.pointer.stop_rule import HOLD_LIMIT

STEP = Path(__file__).parents[3] / "voices" / "default" / "graphs" / "step.onnx"
PHONEMES = 12
CAPACITY = 32
DRAWS = np.linspace(0.0, 0.9999, 16, dtype=np.float32)


@pytest.fixture(scope="module")
def session() -> ort.InferenceSession:
    """The shipped graph."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(STEP, options, providers=["CPUExecutionProvider"])


def next_rows(session: ort.InferenceSession, pointer: int, dwell: int) -> dict[str, np.ndarray]:
    """Run one step from a place, at the wildest sampling that a client may ask for, once for each draw."""
    count = len(DRAWS)
    row = [-1, 0, pointer, dwell, *([0] * PointerTalkerConfig().codebook_count)]
    known = {
        "row_ids": np.tile(np.asarray(row, np.int32), (count, 1)),
        "position": np.full(count, PHONEMES + 4, np.int32),
        "prompt": np.tile(np.arange(PHONEMES, dtype=np.int32) + 1, (count, 1)),
        "prompt_count": np.full(count, PHONEMES, np.int32),
        "params": np.tile(np.asarray([1.5, 1.0, 1.5, 1.0], np.float32), (count, 1)),
        "random": np.tile(DRAWS[:, None], (1, 1 + PointerTalkerConfig().codebook_count)),
    }
    caches = {
        entry.name: np.zeros(
            [{"B": count}.get(size, CAPACITY) if isinstance(size, str) else size for size in entry.shape], np.float32
        )
        for entry in session.get_inputs()
        if entry.name not in known
    }
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {**known, **caches}), strict=True))


@pytest.mark.parametrize("pointer", range(PHONEMES - 1))
def test_a_phoneme_that_was_held_for_too_long_is_left(session: ort.InferenceSession, pointer: int) -> None:
    """Whatever is drawn, the pointer moves on, and by no more than two phonemes."""
    moved = next_rows(session, pointer, HOLD_LIMIT + 1)["next_row_ids"][:, 2] - pointer
    ended = next_rows(session, pointer, HOLD_LIMIT + 1)["done"]

    assert all(moved[~ended] >= 1)
    assert moved.max() <= 2
    assert pointer >= PHONEMES - 2 or not ended.any()


def test_the_last_phoneme_ends_the_segment(session: ort.InferenceSession) -> None:
    """Behind the text there is nothing to babble: the pointer stays, and the end comes at the latest by its rule."""
    step = next_rows(session, PHONEMES - 1, PointerTalkerConfig().end_dwell)

    assert step["done"].all()
    assert set(step["next_row_ids"][:, 2]) == {PHONEMES - 1}
    assert set(step["next_row_ids"][:, 1]) <= {0, END_ADVANCE}
