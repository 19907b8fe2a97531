"""The torch networks with the weights that are left of them in a storage, which the graphs of a bundle must equal."""

import copy
import dataclasses

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from build_engines.fish_speech.causal import CausalConv, CausalTransposedConv, ConvNextBlock
from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.codec import FishCodec, FsqGroup
from build_engines.fish_speech.graph_layers import joined_kernel, spread_kernel
from build_engines.fish_speech.recipe import FishStorage
from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.graph.rounding import rounded_product, rounded_table, rounded_weight
from build_engines.graph.storage import Storage

_TABLES = ("embeddings.weight", "codebook_embeddings.weight", "fast_embeddings.weight")
_HEADS = ("output.weight", "fast_output.weight")


def rounded_checkpoint(checkpoint: FishCheckpoint, weights: TalkerWeights, storage: FishStorage) -> FishCheckpoint:
    """Return the networks with rounded weights; one that keeps all its bits is the same object.

    Args:
        checkpoint: the networks.
        weights: what the talker's graphs are made of, which says how much of its heads is used.
        storage: what the weights go through.
    """
    talker, codec = checkpoint.talker, checkpoint.codec
    if storage.talker is not Storage.FLOAT32:
        talker = _rounded_talker(talker, weights, storage.talker)
    if storage.codec is not Storage.FLOAT32:
        codec = _rounded_codec(codec, storage.codec)
    return dataclasses.replace(checkpoint, talker=talker, codec=codec)


@torch.no_grad()
def _rounded_talker(talker: FishTalker, weights: TalkerWeights, storage: Storage) -> FishTalker:
    """Round every matrix as the graphs cut it: gate and value apart, heads by what can be drawn."""
    result = copy.deepcopy(talker).requires_grad_(requires_grad=False)
    if talker.config.is_tied:  # as a table and as a head it is rounded in two ways
        result.output.weight = nn.Parameter(talker.output.weight.detach().clone(), requires_grad=False)
    for name, parameter in result.named_parameters():
        if parameter.ndim < 2 or name in _HEADS:
            continue
        if name in _TABLES:
            _set(parameter, rounded_table(parameter.numpy(), storage))
            continue
        parts = parameter.chunk(2) if ".w13." in name else [parameter]
        for part in parts:
            _set(part, rounded_product(part.numpy(), storage))
    kept = torch.from_numpy(weights.kept_ids().astype(np.int64))
    head, drawn = result.output.weight, result.fast_output.weight[: weights.drawn_codes]
    head[kept] = torch.from_numpy(rounded_product(head[kept].numpy(), storage, is_head=True))
    _set(drawn, rounded_product(drawn.numpy(), storage, is_head=True))
    return result


@torch.no_grad()
def _rounded_codec(codec: FishCodec, storage: Storage) -> FishCodec:
    """Round every kernel and matrix as the graphs lay it out; the codes' tables keep all their bits there."""
    result = copy.deepcopy(codec).requires_grad_(requires_grad=False)
    for module in result.modules():
        if isinstance(module, CausalConv):
            kernel = module.conv.weight
            _set(kernel, rounded_weight(kernel.flatten(1).numpy(), storage).reshape(kernel.shape))
        elif isinstance(module, CausalTransposedConv):
            rounded = rounded_weight(spread_kernel(module.conv.weight.numpy(), module.stride), storage)
            _set(module.conv.weight, joined_kernel(rounded, module.stride, module.conv.in_channels))
        elif isinstance(module, ConvNextBlock):
            _set(module.pwconv1.weight, rounded_product(module.pwconv1.weight.numpy(), storage))
            _set(module.pwconv2.weight, _rounded_scaled(module, storage))
        elif isinstance(module, FsqGroup):
            _set(module.project_in.weight, rounded_product(module.project_in.weight.numpy(), storage))
    for sequence in list(result.backbone.downsample_layers)[1:]:
        (conv,) = (layer for layer in sequence.modules() if isinstance(layer, nn.Conv1d))
        _set(conv.weight, rounded_product(conv.weight[:, :, 0].numpy(), storage)[:, :, None])
    return result


def _rounded_scaled(block: ConvNextBlock, storage: Storage) -> npt.NDArray[np.float32]:
    """Return what is left of a matrix that a graph multiplies by the block's scale before it is rounded."""
    scale = block.gamma.numpy()[:, None]
    rounded = rounded_product(block.pwconv2.weight.numpy() * scale, storage)
    return np.where(scale == 0, block.pwconv2.weight.numpy(), rounded / np.where(scale == 0, 1, scale))


def _set(target: torch.Tensor, values: npt.NDArray[np.float32]) -> None:
    target.copy_(torch.from_numpy(values))
