"""The talker, the codec and the voice of the recorded end-to-end run, as a checkpoint and as a bundle."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.torch import load_file

from build_engines.fish_speech import bundle as bundle_module
from build_engines.fish_speech.bundle import BuiltInVoice, FishBundle
from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.codec_checkpoint import load_codec
from build_engines.fish_speech.codec_config import codec_config
from build_engines.fish_speech.talker_checkpoint import load_talker
from build_engines.fish_speech.talker_config import TokenIds, talker_config
from server.fish_speech.prompt import Reference

DATA = Path(__file__).parents[2] / "data/fish_speech_1_5"
RECORDED = json.loads((DATA / "e2e/e2e.json").read_text())
TOKENIZER_FILE = DATA / "tokenizer/tokenizer.tiktoken"
_DESCRIPTION = {"language_codes": ["en"], "gender": "neutral", "description": "The recorded reference."}


def recorded_checkpoint() -> FishCheckpoint:
    """Return the networks of the recorded run."""
    config = talker_config(json.loads((DATA / "e2e/config.json").read_text()), "config.json")
    talker = load_talker(load_file(DATA / "e2e/state_dict.safetensors"), config, TokenIds(611, 603))
    sizes = codec_config(json.loads((DATA / "codec_tiny/config.json").read_text()))
    codec = load_codec(load_file(DATA / "codec_tiny/state_dict.safetensors"), sizes, "codec")
    return FishCheckpoint(talker, codec, (TOKENIZER_FILE, DATA / "tokenizer/special_tokens.json"))


def recorded_reference() -> Reference:
    """Return what shows the recorded voice."""
    return Reference(RECORDED["reference_text"], np.ascontiguousarray(recorded_array("reference_codes").T))


def write_recorded_bundle(bundle_dir: Path, checkpoint: FishCheckpoint, longest_frames: int = 1024) -> None:
    """Write a bundle with one voice, `recorded`, which takes the recorded sampling and the recorded reference."""
    reference = recorded_reference()
    voice = BuiltInVoice(_DESCRIPTION, [(reference.text, reference.codes)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle_module, "_REFERENCE_S", (0.3, 60.0))  # the recorded one is short
        patch.setattr(bundle_module, "_MAX_FRAMES", longest_frames)
        patch.setitem(bundle_module._PARAM_RANGES, "temperature", (1e-5, 1e-5, 1.0))
        FishBundle("fish-test", checkpoint, {"recorded": voice}).write(bundle_dir)


def recorded_array(name: str) -> NDArray[Any]:
    """Return an array of the recorded run."""
    with np.load(DATA / "e2e/e2e.npz") as arrays:
        return np.asarray(arrays[name])
