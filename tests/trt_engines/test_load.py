"""From a directory to an engine."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from trt_engines.base import PrefillChunk, StepFrame, StepRequest, VocodeItem
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import BackendError, ManifestError
from trt_engines.load import load_engine
from trt_engines.onnx_runtime import engine as onnx_engine


@pytest.mark.parametrize("kind", ["small_bundle", "window_bundle"])
def test_a_bundle_becomes_an_engine(kind: str, request: pytest.FixtureRequest) -> None:
    """Rows go in, samples come out."""
    engine = load_engine(request.getfixturevalue(kind), EngineOptions(slot_count=2, threads=1))
    engine.talker.prefill([PrefillChunk(1, np.array([[3, 0], [4, 0]], np.int32), 0, is_last=True)])
    frame = engine.talker.step([StepRequest(1, (1.0,), 0, 0)])[0]
    assert isinstance(frame, StepFrame)
    samples = engine.vocoder.vocode([VocodeItem(1, frame.frame[None], 0, is_first=True, is_last=True)])[0]
    engine.close()

    assert isinstance(samples, np.ndarray)
    assert (engine.manifest.audio.samples_per_frame,) == samples.shape
    assert "small" == engine.manifest.id


@pytest.mark.parametrize("kind", ["tiny_bundle", "eight_bit_bundle"])
def test_a_large_talker_says_the_same_on_a_pool(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that share out weights instead of rows change no bit, whoever else is in the batch."""
    said = []
    for large_bytes, count in ((1 << 40, 1), (0, 1), (0, 5)):
        monkeypatch.setattr(onnx_engine, "LARGE_BYTES", large_bytes)
        engine = load_engine(request.getfixturevalue(kind), EngineOptions(slot_count=5, threads=2))
        row_ids = np.ones((6, len(engine.manifest.row.columns)), np.int32)
        defaults = tuple(param.default for param in engine.manifest.step.params)
        engine.talker.prefill([PrefillChunk(slot, row_ids, 0, is_last=True) for slot in range(count)])
        steps = [
            engine.talker.step([StepRequest(slot, defaults, slot, index) for slot in range(count)])[0]
            for index in range(12)
        ]
        said.append([frame.frame.tolist() for frame in steps if isinstance(frame, StepFrame)])
        engine.close()

    assert said[0] == said[1] == said[2]
    assert 12 == len(said[0])


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    """The error of the manifest comes out."""
    with pytest.raises(ManifestError, match="is not a voice bundle"):
        load_engine(tmp_path, EngineOptions(1))


def test_a_missing_runtime_is_said_to_be_missing(small_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says how to install it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(BackendError, match=r"needs ONNX Runtime, which is not installed\. Install it: `pip install"):
        load_engine(small_bundle, EngineOptions(1))


@pytest.mark.parametrize(("slot_count", "threads"), [(0, 1), (1, 0)])
def test_options_are_checked(slot_count: int, threads: int) -> None:
    """There is at least one slot and one thread."""
    with pytest.raises(ValueError, match="is 0 but must be at least 1"):
        EngineOptions(slot_count, threads)
