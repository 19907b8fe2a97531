"""How Fish Speech draws from logits: penalty on repeats, top-p before the temperature, one draw.

Written with operators that both ONNX Runtime and TensorRT have, since sampling is part of the step graph. Where the
original differs from common practice the difference is kept, for the talker was tuned with it: ids of the window are
penalized once however often they occur, and top-p drops the id that crosses the threshold.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

HISTORY_FRAMES = 16
_LOWEST_TEMPERATURE = 1e-5
_DROPPED = -1e30


@dataclass(frozen=True)
class SamplingParams:
    """How to draw, for each of a batch.

    Attributes:
        temperature: float32 [batch, 1]; below 1e-5 it counts as 1e-5.
        top_p: float32 [batch, 1], above 0 and at most 1.
        repetition_penalty: float32 [batch, 1]; 1 has no effect.
    """

    temperature: Tensor
    top_p: Tensor
    repetition_penalty: Tensor


@dataclass(frozen=True)
class Ranked:
    """A distribution in falling order.

    Attributes:
        probabilities: float32 [batch, ids], falling; what top-p dropped is 0.
        order: int64 [batch, ids], the position in the logits of each.
    """

    probabilities: Tensor
    order: Tensor


def penalize(logits: Tensor, repeated: Tensor, penalty: Tensor) -> Tensor:
    """Lower the logits [batch, ids] where `repeated` is true: divide those above 0, multiply those below."""
    lowered = torch.where(logits < 0, logits * penalty, logits / penalty)
    return torch.where(repeated, lowered, logits)


def repeats(window: Tensor, ids: Tensor) -> Tensor:
    """Return which of `ids` [ids] occur in each `window` [batch, frames], as bool [batch, ids]."""
    return (window[:, :, None] == ids).any(1)


def rank(logits: Tensor, params: SamplingParams) -> Ranked:
    """Return the distribution to draw from, for logits [batch, ids] that are already penalized."""
    ranked, order = torch.topk(logits, logits.shape[-1])
    is_first = torch.arange(logits.shape[-1]) == 0
    cumulative = ranked.softmax(-1).cumsum(-1)
    # At 1 the original drops what lies behind a running sum that rounding took past 1; here nothing is dropped then.
    kept = (cumulative <= params.top_p) | is_first | (params.top_p >= 1)
    scaled = torch.where(kept, ranked / params.temperature.clamp(min=_LOWEST_TEMPERATURE), _DROPPED)
    return Ranked(scaled.softmax(-1), order)


def draw(ranked: Ranked, uniform: Tensor) -> Tensor:
    """Return the position int64 [batch] that the numbers `uniform` [batch] in [0, 1) fall on."""
    cumulative = ranked.probabilities.cumsum(-1)
    reached = cumulative <= uniform[:, None] * cumulative[:, -1:]
    # Rounding could step past the last id that was kept; the clamp brings it back.
    last = (ranked.probabilities > 0).long().sum(-1, keepdim=True) - 1
    chosen = torch.minimum(reached.long().sum(-1, keepdim=True), last)
    return ranked.order.gather(-1, chosen)[:, 0]


def remember(history: Tensor, frame_count: Tensor, row: Tensor) -> Tensor:
    """Return the history [batch, 16, columns] after `row` [batch, columns] was drawn.

    It starts as zeros, and as in the original the row drawn when `frame_count` [batch] is 0 is never part of it.
    """
    shifted = torch.cat([history[:, 1:], row[:, None]], 1)
    return torch.where(frame_count[:, None, None] == 0, history, shifted)
