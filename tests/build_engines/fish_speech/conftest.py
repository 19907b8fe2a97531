"""The recorded vectors of the original, and the tiny models they were made with."""

import functools
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from build_engines.fish_speech.codec import FishCodec
from build_engines.fish_speech.codec_checkpoint import load_codec
from build_engines.fish_speech.codec_config import codec_config
from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_checkpoint import load_talker
from build_engines.fish_speech.talker_config import TokenIds, talker_config


class Vectors:
    """Reads what lies in tests/data; models are made once."""

    root = Path(__file__).parents[2] / "data/fish_speech_1_5"

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of the archive `name`, a path without its ending."""
        with np.load(self.root / f"{name}.npz") as archive:
            return dict(archive)

    def json(self, name: str) -> Any:
        """Return what the JSON file `name` holds."""
        return json.loads((self.root / name).read_text())

    @functools.cache  # noqa: B019 - lives as long as the session
    def talker(self, model: str) -> FishTalker:
        """Return the recorded talker `model`."""
        ids = self.json(f"{model}/ids.json")
        token_ids = TokenIds(ids["semantic_begin_id"], ids["special_ids"]["<|im_end|>"])
        config = talker_config(self.json(f"{model}/config.json"), "config.json")
        return load_talker(load_file(self.root / model / "state_dict.safetensors"), config, token_ids)

    @functools.cache  # noqa: B019 - lives as long as the session
    def codec(self, model: str) -> FishCodec:
        """Return the recorded codec `model`; the weights of the full one are drawn again from their seed."""
        tensors = load_file(self.root / "codec_tiny/state_dict.safetensors") if model == "codec_tiny" else self._drawn()
        return load_codec(tensors, codec_config(self.json(f"{model}/config.json")), "firefly.pth")

    def _drawn(self) -> dict[str, torch.Tensor]:
        recipe = self.json("codec_full/weights.json")
        explicit = load_file(self.root / "codec_full/explicit_tensors.safetensors")
        generator = np.random.Generator(np.random.PCG64(recipe["seed"]))
        tensors: dict[str, torch.Tensor] = {}
        for entry in recipe["tensors"]:
            uniform = generator.random(math.prod(entry["shape"])) * 2 - 1
            drawn = (entry["mean"] + entry["std"] * np.sqrt(3) * uniform).astype(np.float32).reshape(entry["shape"])
            tensor = explicit[entry["key"]] if entry["explicit"] else torch.from_numpy(drawn)
            digest = hashlib.sha256(tensor.numpy().astype("<f4").tobytes()).hexdigest()
            assert digest.startswith(entry["sha256_16"]), entry["key"]
            tensors[entry["key"]] = tensor
        return tensors


@pytest.fixture(scope="session")
def vectors() -> Vectors:
    """The recorded vectors."""
    return Vectors()
