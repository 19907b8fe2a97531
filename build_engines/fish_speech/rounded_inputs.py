"""What MatMulNBits does beside its weights: it rounds what it multiplies them by, to 8 bits in the same blocks."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.recipe import FishStorage
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.graph.storage import Storage

_LARGEST = 127


@contextmanager
def rounded_inputs(checkpoint: FishCheckpoint, weights: TalkerWeights, storage: FishStorage) -> Iterator[None]:
    """Let the networks round the inputs of those products that the graphs of a bundle make by MatMulNBits.

    Args:
        checkpoint: the networks; what they hold is not changed.
        weights: what the talker's graphs are made of, which says how much of its heads is used.
        storage: what the weights went through.
    """
    talker, config = checkpoint.talker, checkpoint.talker.config
    heads: dict[nn.Module, tuple[int, int]] = {
        talker.output: (len(weights.kept_ids()), config.slow.width),
        talker.fast_output: (weights.drawn_codes, config.fast.width),
    }
    hooks: list[RemovableHandle] = []
    for network, kind in ((talker, storage.talker), (checkpoint.codec, storage.codec)):
        for module in network.modules():
            if isinstance(module, nn.Linear) or (isinstance(module, nn.Conv1d) and module.kernel_size == (1,)):
                hooks += _hook(module, kind, heads.get(module))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _hook(module: nn.Linear | nn.Conv1d, storage: Storage, head: tuple[int, int] | None) -> list[RemovableHandle]:
    shape = head or (module.weight.shape[0], module.weight.shape[1])
    blocks = storage.product_format(shape, is_head=head is not None)
    if blocks is None:
        return []
    axis = -1 if isinstance(module, nn.Linear) else 1
    return [module.register_forward_pre_hook(lambda _, inputs: (through_blocks(inputs[0], blocks.block_size, axis),))]


def through_blocks(values: Tensor, block_size: int, axis: int) -> Tensor:
    """Round values to 8 bits along one axis, each block by the largest of its own."""
    moved = values.movedim(axis, -1)
    blocks = F.pad(moved, (0, -moved.shape[-1] % block_size)).unflatten(-1, (-1, block_size))
    scales = blocks.abs().amax(-1, keepdim=True) / _LARGEST
    numbers = (blocks / scales.clamp(min=torch.finfo(values.dtype).tiny)).round()
    return (numbers * scales).flatten(-2)[..., : moved.shape[-1]].movedim(-1, axis)
