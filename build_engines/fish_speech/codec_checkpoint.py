"""The firefly checkpoint into a codec, strictly: prefixes taken off and weight norm folded."""

from collections.abc import Mapping

import torch
from torch import Tensor

from build_engines.fish_speech.codec import FishCodec
from build_engines.fish_speech.codec_config import CodecConfig
from build_engines.fish_speech.tensor_file import TensorShelf

_PREFIX = "generator."
_TRAINING_ONLY = "discriminator."
_NORM_SPELLINGS = (
    ("parametrizations.weight.original0", "parametrizations.weight.original1"),
    ("weight_g", "weight_v"),
)


def load_codec(tensors: Mapping[str, Tensor], config: CodecConfig, source: str) -> FishCodec:
    """Return a codec in float32 with the weights of `tensors`.

    Raises:
        CheckpointError: a tensor is missing, left over or misshapen.
    """
    codec = FishCodec(config)
    shelf = TensorShelf(_of_generator(tensors), source)
    for name, parameter in codec.named_parameters():
        shelf.fill(name, parameter, _take(shelf, name))
    shelf.close(codec)
    return codec


def _of_generator(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors without the prefix that checkpoints of whole training runs have."""
    if not any(name.startswith(_PREFIX) for name in tensors):
        return dict(tensors)
    return {
        name.removeprefix(_PREFIX): tensor for name, tensor in tensors.items() if not name.startswith(_TRAINING_ONLY)
    }


def _take(shelf: TensorShelf, name: str) -> Tensor | None:
    stem = name.removesuffix("weight")
    for gain, direction in _NORM_SPELLINGS:
        if stem != name and (shelf.has(stem + gain) or shelf.has(stem + direction)):
            return _folded(shelf.take(stem + gain), shelf.take(stem + direction))
    return shelf.take(name)


def _folded(gain: Tensor | None, direction: Tensor | None) -> Tensor | None:
    """Fold weight norm: each slice of the first axis is `direction` made as long as `gain` says."""
    if gain is None or direction is None:
        return None
    folded: Tensor = torch._weight_norm(direction, gain, 0)  # the original's own arithmetic, bit for bit
    return folded
