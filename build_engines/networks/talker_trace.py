"""What the torch talker computes over a whole utterance that somebody else has spoken: caches and logits."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from build_engines.networks.pointer_talker import PointerTalker
from build_engines.networks.transformer import TransformerLayer, rope_table, rotate


@dataclass(frozen=True)
class TalkerTrace:
    """Results of one utterance.

    Attributes:
        keys, values: of each layer, [kv_heads, phonemes + frames, head_dim].
        advance_logits: [frames, 5], nothing blocked.
        code_logits: for each codebook [frames, codebook_size], given the advance and the earlier codes that were drawn.
    """

    keys: list[Tensor]
    values: list[Tensor]
    advance_logits: Tensor
    code_logits: list[Tensor]


@torch.no_grad()
def trace_talker(talker: PointerTalker, prompt: Tensor, rows: Tensor) -> TalkerTrace:
    """Run the whole sequence at once, without a cache.

    Args:
        talker: the network.
        prompt: int64 phoneme ids [phonemes].
        rows: int64 [frames + 1, columns]; row i is the input of step i, row i + 1 what the step drew.
    """
    prompts, counts = prompt[None], torch.tensor([len(prompt)])
    entering, drawn = rows[None, :-1], rows[None, 1:]
    hidden = torch.cat([talker.phoneme(prompts), talker.embed_frames(entering, prompts, counts)], 1)
    config = talker.config.slow
    cos, sin = rope_table(hidden.shape[1], config.head_dim, config.rope_base, rounded=config.rope_rounded)
    keys, values = [], []
    for layer in cast("list[TransformerLayer]", list(talker.slow.layers)):
        _, key, value = layer.attention.project(layer.attention_norm(hidden))
        keys.append(rotate(key, cos, sin)[0])
        values.append(value[0])
        hidden = layer(hidden, cos, sin)
    spoken = talker.slow_norm(hidden)[:, len(prompt) :]
    start = talker.fast_start(spoken, prompts, counts, drawn[..., 2], drawn[..., 1])[0]
    return TalkerTrace(keys, values, talker.advance_head(spoken)[0], talker.code_logits(start, drawn[0, :, 4:]))
