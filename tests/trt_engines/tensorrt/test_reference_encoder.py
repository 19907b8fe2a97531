"""The encoder of reference audio on the doubles: the frames of ONNX Runtime, for any length."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.trt_engines.double_plans import write_double_plans
from trt_engines.base import ReferenceEncoder
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import EngineError
from trt_engines.load import load_engine
from trt_engines.tensorrt.plan_manifest import read_plan_manifest

RATE_HZ = 16_000


@pytest.fixture
def encoder(window_bundle: Path, open_bench: Callable, tmp_path: Path) -> ReferenceEncoder:
    """The encoder of the small bundle that clones: 0.01 to 0.1 seconds of audio."""
    write_double_plans(window_bundle, tmp_path)
    found: ReferenceEncoder = open_bench(bundle_dir=window_bundle, plans_dir=tmp_path).engine.reference_encoder
    return found


@pytest.mark.parametrize("sample_count", [160, 164, 800, 1600])
def test_frames_equal_those_of_onnx_runtime(sample_count: int, encoder: ReferenceEncoder, window_bundle: Path) -> None:
    """The shortest audio, the longest, and lengths between: one plan takes them all."""
    reference = load_engine(window_bundle, EngineOptions(slot_count=1, threads=1)).reference_encoder
    assert reference is not None
    samples = np.random.default_rng(sample_count).uniform(-1, 1, sample_count).astype(np.float32)
    expected = reference.encode(samples)
    assert (sample_count // 4, 2) == expected.shape
    np.testing.assert_array_equal(expected, encoder.encode(samples))


def test_frames_are_the_callers_own(encoder: ReferenceEncoder) -> None:
    """A later call changes nothing that an earlier one returned."""
    first = encoder.encode(np.zeros(160, np.float32))
    kept = first.copy()
    encoder.encode(np.ones(160, np.float32))
    np.testing.assert_array_equal(kept, first)


def test_audio_beyond_the_bounds_is_refused(encoder: ReferenceEncoder) -> None:
    """Nothing is put on the stream for it."""
    with pytest.raises(EngineError, match=r"give one channel of 0.01 to 0.1 seconds at 16000 Hz"):
        encoder.encode(np.zeros(1604, np.float32))


def test_a_bundle_that_does_not_clone_has_no_encoder(open_bench: Callable, small_plans: Path) -> None:
    """Neither a plan nor an encoder."""
    assert open_bench().engine.reference_encoder is None
    assert read_plan_manifest(small_plans / "tensorrt-sm89").encode is None
