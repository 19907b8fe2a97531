"""Causal layers of Fish Speech's codec, and the past that they see before their first frame.

The same layers run whole sequences, where the past is zeros, and streams, where it is what earlier calls left behind.
Time is the last axis. Attribute names are those of the checkpoint.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Past:
    """The past of a whole sequence: zeros."""

    def before(self, frames: Tensor, history: int) -> Tensor:
        """Return `frames` [batch, channels, time] with the `history` frames before them in front."""
        return F.pad(frames, (history, 0))

    def upsampled(self, rate: int) -> None:
        """Note that from here on a frame has become `rate` frames."""


class CarriedPast(Past):
    """The past of a stream: slices of one state vector, read in the order of the layers and written anew.

    Attributes:
        count: int64 [batch], how many of a call's frames are real; what follows them must leave no trace.
    """

    def __init__(self, state: Tensor, count: Tensor) -> None:
        self._state = state
        self._count = count
        self._rate = 1
        self._read = 0
        self._written: list[Tensor] = []

    def before(self, frames: Tensor, history: int) -> Tensor:
        """Return `frames` with their past in front, and keep the last `history` of both for the next call."""
        if history == 0:
            return frames
        width = frames.shape[1] * history
        carried = self._state[:, self._read : self._read + width].unflatten(1, (frames.shape[1], history))
        self._read += width
        joined = torch.cat([carried, frames], 2)
        at = (self._count * self._rate)[:, None] + torch.arange(history)
        kept = joined.gather(2, at[:, None].expand(-1, frames.shape[1], -1))
        self._written.append(kept.flatten(1))
        return joined

    def upsampled(self, rate: int) -> None:
        """Note that from here on a frame has become `rate` frames."""
        self._rate *= rate

    def state(self) -> Tensor:
        """Return the state for the next call, shaped as the one given."""
        return torch.cat(self._written, 1)


class MeasuredPast(Past):
    """The past of a whole sequence that counts how wide a stream's state is.

    Attributes:
        width: floats of state seen so far.
    """

    def __init__(self) -> None:
        self.width = 0

    def before(self, frames: Tensor, history: int) -> Tensor:
        """Return `frames` with zeros in front."""
        self.width += frames.shape[1] * history
        return super().before(frames, history)


class CausalConv(nn.Module):
    """A convolution that sees only the past; with a stride the last frame may be half zeros."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, dilation: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        self.history = (kernel - 1) * dilation + 1 - stride
        self.stride = stride
        self.conv = nn.Conv1d(inputs, outputs, kernel, stride=stride, dilation=dilation, groups=groups)

    def forward(self, frames: Tensor, past: Past) -> Tensor:
        """Map [batch, inputs, time] to [batch, outputs, ceil(time / stride)]."""
        joined = past.before(frames, self.history)
        mapped: Tensor = self.conv(F.pad(joined, (0, self.stride - 1)) if self.stride > 1 else joined)
        return mapped


class CausalTransposedConv(nn.Module):
    """An upsampling convolution: what it makes of a frame depends on it and, with a wide kernel, on the one before."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.history = kernel // stride - 1
        self.conv = nn.ConvTranspose1d(inputs, outputs, kernel, stride=stride)

    def forward(self, frames: Tensor, past: Past) -> Tensor:
        """Map [batch, inputs, time] to [batch, outputs, time * stride]."""
        joined = past.before(frames, self.history)
        past.upsampled(self.stride)
        start = self.history * self.stride
        mapped: Tensor = self.conv(joined)
        return mapped[..., start : start + frames.shape[-1] * self.stride]


class ConvNextBlock(nn.Module):
    """Depthwise convolution, LayerNorm over channels, a pointwise MLP with exact GELU, a scaled residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dwconv = CausalConv(width, width, 7, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.pwconv1 = nn.Linear(width, 4 * width)
        self.pwconv2 = nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, frames: Tensor, past: Past) -> Tensor:
        """Map [batch, width, time] to the same shape."""
        mixed = self.dwconv(frames, past).transpose(1, 2)
        added: Tensor = frames + (self.gamma * self.pwconv2(F.gelu(self.pwconv1(self.norm(mixed))))).transpose(1, 2)
        return added


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels of [batch, channels, time]."""

    def __init__(self, width: int) -> None:
        super().__init__(width, eps=1e-6)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the name in torch
        """Normalize each frame."""
        return super().forward(input.transpose(1, 2)).transpose(1, 2)


class CausalSequence(nn.ModuleList):
    """Layers one after another; those that look back are given the past."""

    def forward(self, frames: Tensor, past: Past) -> Tensor:
        """Map [batch, channels, time] through all layers."""
        for layer in self:
            looks_back = isinstance(layer, CausalConv | CausalTransposedConv | ConvNextBlock)
            frames = layer(frames, past) if looks_back else layer(frames)
        return frames
