"""model.pth into a talker, strictly: the map of names, older spellings included."""

from collections.abc import Mapping

import torch
from torch import Tensor

from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_config import FishTalkerConfig, TokenIds
from build_engines.fish_speech.tensor_file import TensorShelf

_RENAMED = (
    ("slow.layers.", "layers."),
    ("fast.layers.", "fast_layers."),
    (".ffn.w2.", ".feed_forward.w2."),
)


def load_talker(
    tensors: Mapping[str, Tensor], config: FishTalkerConfig, ids: TokenIds, source: str = "model.pth"
) -> FishTalker:
    """Return a talker in float32 with the weights of `tensors`.

    Raises:
        CheckpointError: a tensor is missing, left over or misshapen.
    """
    talker = unfilled_talker(config, ids)
    talker.to_empty(device="cpu").tie()
    fill_talker(talker, tensors, source)
    return talker


def unfilled_talker(config: FishTalkerConfig, ids: TokenIds) -> FishTalker:
    """Return a talker that has shapes but no memory yet: drawing weights to overwrite them would take a minute."""
    with torch.device("meta"):
        return FishTalker(config, ids)


def fill_talker(talker: FishTalker, tensors: Mapping[str, Tensor], source: str) -> None:
    """Copy `tensors` into `talker`; see `load_talker`."""
    shelf = TensorShelf(_without_prefix(tensors), source)
    for name, parameter in talker.named_parameters():
        shelf.fill(name, parameter, _take(shelf, name))
    shelf.close(talker)


def _without_prefix(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    if next(iter(tensors)).startswith("model."):
        return {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    return dict(tensors)


def _take(shelf: TensorShelf, name: str) -> Tensor | None:
    for ours, theirs in _RENAMED:
        name = name.replace(ours, theirs)
    if ".ffn.w13." in name:
        return _joined(shelf, [name.replace(".ffn.w13.", f".feed_forward.{part}.") for part in ("w1", "w3")])
    separate = [name.replace(".wqkv.", f".{part}.") for part in ("wq", "wk", "wv")]
    if ".wqkv." in name and any(map(shelf.has, separate)):
        return _joined(shelf, separate)
    return shelf.take(name)


def _joined(shelf: TensorShelf, names: list[str]) -> Tensor | None:
    parts = [shelf.take(name) for name in names]
    found = [part for part in parts if part is not None]
    return torch.cat(found) if len(found) == len(names) else None
