"""Golden vectors of both families, and what half precision makes of Fish Speech's."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from build_engines.fish_speech.build import FishBuild
from build_engines.golden_utterance import GoldenUtterance
from build_engines.tensorrt.half_parity import half_parity
from tests.build_engines.fish_speech.conftest import Vectors
from tests.build_engines.golden_noise import write_golden_noise


@pytest.fixture(scope="module")
def fish(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the tiny Fish Speech models, with its golden vectors."""
    folder, vectors = tmp_path_factory.mktemp("fish"), Vectors()
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    for source in ("tokenizer/tokenizer.tiktoken", "tokenizer/special_tokens.json", "e2e/config.json"):
        shutil.copy(vectors.root / source, checkpoint)
    shutil.copy(vectors.root / "codec_tiny/config.json", checkpoint / "firefly.json")
    torch.save(load_file(vectors.root / "e2e/state_dict.safetensors"), checkpoint / "model.pth")
    torch.save(load_file(vectors.root / "codec_tiny/state_dict.safetensors"), checkpoint / "firefly.pth")
    FishBuild(checkpoint).write(folder / "bundle")
    return folder / "bundle"


def test_a_pointing_voice_keeps_ids_and_the_rows_that_steps_took(tmp_path: Path) -> None:
    """Prompt rows hold their id in column 0 and nothing else; the first input is the first kept row."""
    write_golden_noise(tmp_path / "bundle")
    golden = GoldenUtterance.load(tmp_path / "bundle")
    assert (12, 8) == golden.prompt.shape
    assert {-1} == set(golden.prompt[:, 1:].ravel().tolist())
    assert len(golden.random) == len(golden.inputs)
    assert [-1, 5, 0, 0, 0, 0, 0, 0] == golden.inputs[0].tolist()


def test_fish_speech_keeps_whole_rows(fish: Path) -> None:
    """The last row of its prompt is what the first step takes, and each step takes what the one before drew."""
    golden = GoldenUtterance.load(fish)
    with np.load(fish / "golden" / "talker.npz") as kept:
        arrays: dict[str, Any] = dict(kept)
    np.testing.assert_array_equal(arrays["prompt"], np.concatenate([golden.prompt, golden.inputs[:1]]))
    np.testing.assert_array_equal(arrays["rows"][:-1], golden.inputs[1:])


def test_half_precision_of_fish_speech_draws_the_same(fish: Path) -> None:
    """Logits, draws and spectrum of the tiny models stay within the tolerances, one row of the table each."""
    results = {result.case: result.worst_error for result in half_parity(fish)}
    assert {"1 - cosine of the logits", "logit error", "draws that differ", "mel distance in dB"} == set(results)
