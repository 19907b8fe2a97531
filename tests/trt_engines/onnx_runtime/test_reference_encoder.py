"""Reference audio becomes frames."""

from pathlib import Path

import numpy as np
import pytest

from trt_engines.base import ReferenceEncoder
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import BackendError, EngineError
from trt_engines.load import load_engine


@pytest.fixture
def encoder(window_bundle: Path) -> ReferenceEncoder:
    """The encoder of the small bundle that clones."""
    encoder = load_engine(window_bundle, EngineOptions(1, threads=1)).reference_encoder
    assert encoder is not None
    return encoder


def test_reference_audio_becomes_frames(encoder: ReferenceEncoder) -> None:
    """Each block of samples is a frame."""
    samples = np.repeat(np.linspace(0, 1, 41, dtype=np.float32), 4)

    assert [10 * i // 40 for i in range(41)] == encoder.encode(samples)[:, 1].tolist()


def test_a_bundle_that_does_not_clone_has_no_encoder(small_bundle: Path) -> None:
    """There is nothing to encode with."""
    assert load_engine(small_bundle, EngineOptions(1, threads=1)).reference_encoder is None


@pytest.mark.parametrize(
    ("samples", "sentence"),
    [
        (np.zeros(100, np.float32), r"shape \(100,\) was given; give one channel of 0\.01 to 0\.1 seconds at 16000 Hz"),
        (np.zeros(1700, np.float32), r"shape \(1700,\)"),
        (np.zeros((2, 200), np.float32), r"shape \(2, 200\)"),
        (np.full(200, np.nan, np.float32), r"not finite; give samples in \[-1, 1\]"),
    ],
)
def test_unfit_audio_is_refused(encoder: ReferenceEncoder, samples: np.ndarray, sentence: str) -> None:
    """The error says what would be right."""
    with pytest.raises(EngineError, match=sentence):
        encoder.encode(samples)


def test_a_failing_run_says_on_what(encoder: ReferenceEncoder) -> None:
    """An error of the runtime becomes one of ours."""
    with pytest.raises(BackendError, match="failed on 201 reference samples"):
        encoder.encode(np.zeros(201, np.float32))
