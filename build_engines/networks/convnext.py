"""The ConvNeXt block of the codec: causal, centered, or centered with a carried delay when streamed.

Convolutions are written as shifted multiply-adds and matrix products, so that the samples of a stream do not depend
on how its frames were cut into calls (no kernel chooses its algorithm by length).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvNextBlock(nn.Module):
    """Depthwise convolution over time, LayerNorm, a pointwise MLP with GELU, a scaled residual.

    Attributes:
        lookahead: frames to the right that one output frame sees (0 when causal).
        history: frames that a stream must carry from one call to the next.
    """

    def __init__(self, width: int, kernel: int, expansion: int, *, is_causal: bool) -> None:
        super().__init__()
        self.kernel = kernel
        self.history = kernel - 1
        self.lookahead = 0 if is_causal else kernel // 2
        self.dw = nn.Conv1d(width, width, kernel, groups=width)
        self.norm = nn.LayerNorm(width)
        self.pw1 = nn.Linear(width, expansion * width)
        self.pw2 = nn.Linear(expansion * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, frames: Tensor) -> Tensor:
        """Map frames [batch, time, width] to the same shape; zeros stand outside the sequence."""
        padded = F.pad(frames, (0, 0, self.history - self.lookahead, self.lookahead))
        mixed = self.dw(padded.transpose(1, 2)).transpose(1, 2)
        return frames + self._pointwise(mixed)

    def stream(self, frames: Tensor, carried: Tensor) -> tuple[Tensor, Tensor]:
        """Map new frames [batch, time, width] given `carried` [batch, history, width], the frames before them.

        Output frame t belongs to input frame t - lookahead. Returns the output and the next `carried`.
        """
        time = frames.shape[1]
        joined = torch.cat([carried, frames], 1)
        mixed = self.dw.bias + sum(
            joined[:, tap : tap + time] * self.dw.weight[:, 0, tap] for tap in range(self.kernel)
        )
        center = self.history - self.lookahead
        return joined[:, center : center + time] + self._pointwise(mixed), joined[:, time:]

    def _pointwise(self, mixed: Tensor) -> Tensor:
        hidden: Tensor = self.gamma * self.pw2(F.gelu(self.pw1(self.norm(mixed))))
        return hidden
