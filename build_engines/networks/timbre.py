"""What makes the codec's tail speak in several voices: small additions to its blocks, steered by a voice vector.

Every addition is a product with the vector, so zeros leave the tail exactly as it was: the voice that it was trained on
first stays what it is, sample for sample. The talker and the decoder know nothing of voices.

* The pitch is stretched around its middle and moved; the last two numbers of the vector say by how much.
* A causal block in front of the tail reshapes the latent, and is told the new pitch.
* Every normalization of the tail is scaled and shifted.
* Every matrix of the tail is given an update of low rank, whose directions the vector weighs.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from build_engines.networks.latent_codec_config import (
    FRONT_EXPANSION,
    FRONT_KERNEL,
    MIDDLE_LOG_F0,
    SPECTRUM_PARTS,
    LatentCodecConfig,
)


class Tint(nn.Module):
    """Scales and shifts channels [batch, time, width] by a timbre [batch, timbre width]; zeros change nothing."""

    def __init__(self, config: LatentCodecConfig) -> None:
        super().__init__()
        self.linear = nn.Linear(config.timbre_width, 2 * config.latent_width, bias=False)
        nn.init.zeros_(self.linear.weight)

    def forward(self, channels: Tensor, timbre: Tensor) -> Tensor:
        """Apply it."""
        scale, shift = self.linear(timbre)[:, None].chunk(2, -1)
        tinted: Tensor = channels * (1 + scale) + shift
        return tinted


class Adapter(nn.Module):
    """The update of a matrix: down to `rank` directions, each weighed by the timbre, and up again."""

    def __init__(self, inputs: int, outputs: int, rank: int, timbre_width: int) -> None:
        super().__init__()
        self.down = nn.Linear(inputs, rank, bias=False)
        self.gate = nn.Linear(timbre_width, rank, bias=False)
        self.up = nn.Linear(rank, outputs, bias=False)
        nn.init.zeros_(self.up.weight)
        nn.init.normal_(self.gate.weight, std=0.1)
        with torch.no_grad():
            self.gate.weight[:, 0] = 1.0

    def forward(self, channels: Tensor, timbre: Tensor) -> Tensor:
        """Return what is added to the product of the matrix with `channels` [batch, time, inputs]."""
        added: Tensor = self.up(self.down(channels) * self.gate(timbre)[:, None])
        return added


class Front(nn.Module):
    """The causal block in front of the tail."""

    def __init__(self, config: LatentCodecConfig) -> None:
        super().__init__()
        width = config.latent_width
        self.dw = nn.Conv1d(width, width, FRONT_KERNEL, groups=width)
        self.norm = nn.LayerNorm(width)
        self.pw1 = nn.Linear(width, FRONT_EXPANSION * width)
        self.pw2 = nn.Linear(FRONT_EXPANSION * width, width)
        self.tint = Tint(config)
        self.pitch = nn.Linear(2, width, bias=False)
        self.gate = nn.Linear(config.timbre_width, width, bias=False)
        nn.init.zeros_(self.pitch.weight)
        nn.init.zeros_(self.gate.weight)

    def forward(self, latent: Tensor, pitch: Tensor, timbre: Tensor) -> Tensor:
        """Reshape latents [batch, time, width]; `pitch` is what `pitch_features` returns."""
        mixed = self.dw(F.pad(latent, (0, 0, FRONT_KERNEL - 1, 0)).transpose(1, 2)).transpose(1, 2)
        normed = self.tint(self.norm(mixed), timbre) + self.pitch(pitch)
        update = self.pw2(F.gelu(self.pw1(normed)))
        reshaped: Tensor = latent + self.gate(timbre)[:, None] * update
        return reshaped


class TimbredTail(nn.Module):
    """A tail of several voices; the tail itself, a `SpectralTail`, belongs to the codec."""

    def __init__(self, config: LatentCodecConfig) -> None:
        super().__init__()
        width, spread, timbre = config.latent_width, config.tail_expansion * config.latent_width, config.timbre_width
        rank, blocks = config.timbre_rank, range(config.tail_blocks)
        self.front = Front(config)
        self.tints = nn.ModuleList(Tint(config) for _ in range(config.tail_blocks + 1))
        self.spreads = nn.ModuleList(Adapter(width, spread, rank, timbre) for _ in blocks)
        self.merges = nn.ModuleList(Adapter(spread, width, rank, timbre) for _ in blocks)
        self.head = Adapter(width, SPECTRUM_PARTS * config.bins, config.head_rank, timbre)

    def forward(self, tail: nn.Module, latent: Tensor, pitch: Tensor, timbre: Tensor) -> Tensor:
        """Return the spectra [batch, time, 5 * bins] of whole utterances.

        Args:
            tail: a `SpectralTail`.
            latent: float32 [batch, time, width].
            pitch: float32 [batch, time, 2], see `pitch_features`.
            timbre: float32 [batch, timbre width].
        """
        hidden = self.front(latent, pitch, timbre)
        for index, block in enumerate(tail.blocks):  # type: ignore[arg-type]  # a list of modules
            normed = self.tints[index](block.norm(block.mixed(hidden)), timbre)
            spread = F.gelu(block.pw1(normed) + self.spreads[index](normed, timbre))
            hidden = hidden + block.gamma * (block.pw2(spread) + self.merges[index](spread, timbre))
        normed = self.tints[-1](tail.norm(hidden), timbre)  # type: ignore[operator]  # a module
        spectra: Tensor = tail.head(normed) + self.head(normed, timbre)  # type: ignore[operator]  # a module
        return spectra


def moved_log_f0(log_f0: Tensor, voice: Tensor) -> Tensor:
    """Return the log pitch [batch, time] of a voice: stretched and moved by the last two numbers of its vector."""
    stretch, move = voice[:, None, -2], voice[:, None, -1]
    return log_f0 * (1 + stretch) + move


def pitch_features(log_f0: Tensor, is_voiced: Tensor) -> Tensor:
    """Return what the front block is told of the pitch: float32 [batch, time, 2]."""
    voiced = is_voiced.to(log_f0.dtype)
    return torch.stack([voiced * (log_f0 - MIDDLE_LOG_F0), voiced], -1)
