"""What the torch talker computes over rows that somebody else has spoken: caches, and what it would have drawn."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from build_engines.fish_speech import sampler
from build_engines.fish_speech.sampler import HISTORY_FRAMES, SamplingParams
from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.networks.transformer import TransformerLayer, rope_table, rotate


@dataclass(frozen=True)
class SpokenRows:
    """One row sequence of a run.

    Attributes:
        rows: int64 [prompt + steps, columns], of which the last `steps` were drawn.
        random: float32 [steps, codebooks], the numbers they were drawn with.
        params: temperature, top-p and repetition penalty.
    """

    rows: Tensor
    random: Tensor
    params: tuple[float, float, float]

    @property
    def prompt_count(self) -> int:
        """Rows of the prompt."""
        return len(self.rows) - len(self.random)


@torch.no_grad()
def trace_caches(talker: FishTalker, rows: Tensor) -> tuple[list[Tensor], Tensor]:
    """Run rows int64 [time, columns] at once.

    Returns:
        Keys and values of each layer in turn, [kv_heads, time, head_dim], and the hidden states [time, width] before
        the final norm.
    """
    config, hidden = talker.config.slow, talker.embed(rows[None])
    cos, sin = rope_table(len(rows), config.head_dim, config.rope_base, rounded=config.rope_rounded)
    caches: list[Tensor] = []
    for layer in talker.slow.layers:
        assert isinstance(layer, TransformerLayer)
        _, keys, values = layer.attention.project(layer.attention_norm(hidden))
        caches += [rotate(keys, cos, sin)[0], values[0]]
        hidden = layer(hidden, cos, sin)
    return caches, hidden[0]


@torch.no_grad()
def redraw(weights: TalkerWeights, talker: FishTalker, spoken: SpokenRows, hidden: Tensor) -> Tensor:
    """Return what torch would have drawn in each step after the rows that were spoken before, int64 [steps, columns].

    Every draw is judged by itself: code k is drawn after the codes before it that were spoken, not those drawn here.
    """
    params = SamplingParams(*(torch.tensor([[value]]) for value in spoken.params))
    kept = torch.from_numpy(weights.kept_ids().astype(np.int64))
    drawn_rows = spoken.rows[spoken.prompt_count :]
    before = hidden[spoken.prompt_count - 1 : -1]
    slow = talker.slow_logits(before)[:, kept]
    fast = talker.code_logits(before, drawn_rows[:, 1:-1])[..., : weights.drawn_codes]
    history = torch.full((1, HISTORY_FRAMES, weights.columns), -1)  # penalizes nothing in the first step
    redrawn = torch.zeros_like(drawn_rows)
    for step, row in enumerate(drawn_rows):
        for column in [0, *range(2, weights.columns)]:
            logits = slow[step] if column == 0 else fast[step, column - 1]
            ids = kept if column == 0 else torch.arange(weights.drawn_codes)
            repeated = sampler.repeats(history[:, :, column], ids)
            ranked = sampler.rank(sampler.penalize(logits[None], repeated, params.repetition_penalty), params)
            redrawn[step, column] = ids[sampler.draw(ranked, spoken.random[step, max(column - 1, 0)][None])]
        redrawn[step, 1] = talker.first_code(row[0])
        history = sampler.remember(history.clamp(min=0), torch.tensor([step]), row[None])
    return redrawn
