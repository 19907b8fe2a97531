"""A whole bundle, run by the engine that serves it: from recorded text and reference to the original's audio."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from safetensors import safe_open
from safetensors.torch import load_file

from build_engines.fish_speech import bundle as bundle_module
from build_engines.fish_speech.bundle import BuiltInVoice, FishBundle
from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.talker_checkpoint import load_talker
from build_engines.fish_speech.talker_config import TokenIds, talker_config
from build_engines.graph.storage import Storage
from trt_engines.base import PrefillChunk, StepFrame, StepRequest, VocodeItem
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def checkpoint(vectors: Any) -> FishCheckpoint:
    """The talker and the codec of the recorded end-to-end run."""
    config = talker_config(vectors.json("e2e/config.json"), "config.json")
    talker = load_talker(load_file(vectors.root / "e2e/state_dict.safetensors"), config, TokenIds(611, 603))
    files = (vectors.root / "tokenizer/tokenizer.tiktoken", vectors.root / "tokenizer/special_tokens.json")
    return FishCheckpoint(talker, vectors.codec("codec_tiny"), files)


def _speak(bundle_dir: Path, prompt: Array, frame_limit: int, chunk_frames: int) -> tuple[Array, Array]:
    """Return the frames and the samples that the engine makes of a prompt."""
    engine = load_engine(bundle_dir, EngineOptions(slot_count=2, threads=1))
    try:
        rows = prompt.astype(np.int32)
        for start in range(0, len(rows), 48):
            chunk = rows[start : start + 48]
            engine.talker.prefill([PrefillChunk(1, chunk, start, start + 48 >= len(rows))])
        frames: list[Array] = []
        for index in range(frame_limit):
            (frame,) = engine.talker.step([StepRequest(1, (1e-5, 0.7, 1.2), 1, index)])
            assert isinstance(frame, StepFrame)
            if frame.emit:
                frames.append(frame.frame.copy())
            if frame.done:
                break
        pieces: list[Array] = []
        for start in range(0, len(frames), chunk_frames):
            part = np.stack(frames[start : start + chunk_frames])
            item = VocodeItem(0, part, 1, is_first=not start, is_last=start + chunk_frames >= len(frames))
            pieces += [samples for samples in engine.vocoder.vocode([item]) if isinstance(samples, np.ndarray)]
        return np.stack(frames), np.concatenate(pieces)
    finally:
        engine.close()


def test_text_becomes_the_originals_audio(vectors: Any, checkpoint: FishCheckpoint, tmp_path: Path) -> None:
    """Both recorded segments give the same codes to the end, and their samples, streamed, agree."""
    arrays, recorded = vectors.arrays("e2e/e2e"), vectors.json("e2e/e2e.json")
    FishBundle("fish-test", checkpoint).write(tmp_path)
    for index, segment in enumerate(recorded["segments"]):
        prompt = arrays[f"segment{index}_prompt"].T
        frames, samples = _speak(tmp_path, prompt, segment["generated"], chunk_frames=4 - index)
        np.testing.assert_array_equal(frames, arrays[f"segment{index}_clean_codes"].T)
        np.testing.assert_allclose(samples, arrays[f"segment{index}_clean_audio"], atol=1e-5)


def test_compat_bundle_speaks_what_the_original_emits(vectors: Any, checkpoint: FishCheckpoint, tmp_path: Path) -> None:
    """With upstream_compat the first frame is lost and that of the stop token is spoken, as by the original."""
    arrays = vectors.arrays("e2e/e2e")
    FishBundle("fish-test", checkpoint, upstream_compat=True).write(tmp_path)
    frames, samples = _speak(tmp_path, arrays["segment0_prompt"].T, 10, chunk_frames=5)
    np.testing.assert_array_equal(frames, arrays["segment0_upstream_emitted"].T)
    np.testing.assert_allclose(samples, arrays["segment0_upstream_audio"], atol=1e-5)


def test_reference_graph_gives_the_originals_codes(vectors: Any, checkpoint: FishCheckpoint, tmp_path: Path) -> None:
    """The recorded reference is encoded to the recorded codes."""
    manifest = FishBundle("fish-test", checkpoint).write(tmp_path)
    assert manifest.reference is not None
    arrays = vectors.arrays("e2e/e2e")
    session = ort.InferenceSession(tmp_path / manifest.reference.graph, providers=["CPUExecutionProvider"])
    samples = arrays["reference_wav_int16"].astype(np.float32)[None] / 32768
    np.testing.assert_array_equal(session.run(["frames"], {"samples": samples})[0][0].T, arrays["reference_codes"])


def test_built_in_voices_keep_their_references(checkpoint: FishCheckpoint, tmp_path: Path) -> None:
    """Codes and transcripts lie in a file beside the voice's JSON; both are hashed."""
    codes = np.arange(24, dtype=np.int32).reshape(3, 8)
    voice = BuiltInVoice({"gender": "female"}, [("Hello.", codes)])
    manifest = FishBundle("fish-test", checkpoint, {"anna": voice}).write(tmp_path)
    assert json.loads((tmp_path / "voices/anna.json").read_text()) == {"name": "anna", "gender": "female"}
    with safe_open(tmp_path / "voices/anna.safetensors", "numpy") as stored:
        assert stored.metadata() == {"text.0": "Hello."}
        np.testing.assert_array_equal(stored.get_tensor("codes.0"), codes)
    assert {"voices/anna.json", "voices/anna.safetensors"} < set(manifest.hashes)


def test_a_large_talker_keeps_its_weights_beside_the_graphs(
    vectors: Any, checkpoint: FishCheckpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above a gigabyte the weights go to a file of their own, and the engine finds them."""
    monkeypatch.setattr(bundle_module, "_MANY_BYTES", 1000)
    manifest = FishBundle("fish-test", checkpoint).write(tmp_path)
    assert {"graphs/step.data", "graphs/prefill.data"} < set(manifest.hashes)
    assert (tmp_path / "graphs/step.onnx").stat().st_size < 200_000
    arrays = vectors.arrays("e2e/e2e")
    frames, _ = _speak(tmp_path, arrays["segment0_prompt"].T, 10, chunk_frames=9)
    np.testing.assert_array_equal(frames, arrays["segment0_clean_codes"].T)


@pytest.mark.parametrize("storage", [Storage.FLOAT16, Storage.PACKED, Storage.INT8, Storage.INT4])
def test_narrow_weights_run_and_take_less_room(
    vectors: Any, checkpoint: FishCheckpoint, tmp_path: Path, storage: Storage
) -> None:
    """Smaller bundles speak too."""
    FishBundle("fish-test", checkpoint, storage=storage, codec_storage=Storage.FLOAT16).write(tmp_path)
    model = onnx.load(tmp_path / "graphs/step.onnx")
    stored = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    assert stored < 0.75 * sum(parameter.nbytes for parameter in checkpoint.talker.parameters())
    frames, samples = _speak(tmp_path, vectors.arrays("e2e/e2e")["segment1_prompt"].T, 4, chunk_frames=2)
    assert len(samples) == 2048 * len(frames)
    assert np.isfinite(samples).all()
