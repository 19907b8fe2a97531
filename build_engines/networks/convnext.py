"""The ConvNeXt block of the codec, causal or centered; `build_engines.vocoder.convnext` streams it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvNextBlock(nn.Module):
    """Depthwise convolution over time, LayerNorm, a pointwise MLP with GELU, a scaled residual.

    Attributes:
        lookahead: frames to the right that one output frame sees (0 when causal).
        history: frames to either side of one output frame that it sees.
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
        return frames + self._pointwise(self.mixed(frames))

    def mixed(self, frames: Tensor) -> Tensor:
        """Return the depthwise convolution alone."""
        padded = F.pad(frames, (0, 0, self.history - self.lookahead, self.lookahead))
        mixed: Tensor = self.dw(padded.transpose(1, 2)).transpose(1, 2)
        return mixed

    def _pointwise(self, mixed: Tensor) -> Tensor:
        hidden: Tensor = self.gamma * self.pw2(F.gelu(self.pw1(self.norm(mixed))))
        return hidden
