"""Fish Speech's codec (Firefly): 44.1 kHz samples to frames of eight codes, and frames back to samples.

Everything is causal but the spectrum's window. The encoder turns spectra into latents four times slower; a quantizer
with one finite scalar code for each of eight channel groups sits between; the decoder is a HiFi-GAN with SiLU. Module
names are those of the checkpoint.
"""

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from build_engines.fish_speech.causal import (
    CausalConv,
    CausalSequence,
    CausalTransposedConv,
    ChannelNorm,
    ConvNextBlock,
    Past,
)
from build_engines.fish_speech.codec_config import CodecConfig
from build_engines.fish_speech.mel import LogMel
from build_engines.networks.fsq import GroupedFsq


class Backbone(nn.Module):
    """The ConvNeXt encoder: spectra [batch, bands, time] to features [batch, width, time]."""

    def __init__(self, bands: int, depths: tuple[int, ...], widths: tuple[int, ...]) -> None:
        super().__init__()
        stem = CausalSequence([CausalConv(bands, widths[0], 7), ChannelNorm(widths[0])])
        between = [
            CausalSequence([ChannelNorm(before), nn.Conv1d(before, after, 1)])
            for before, after in itertools.pairwise(widths)
        ]
        self.downsample_layers = nn.ModuleList([stem, *between])
        self.stages = nn.ModuleList(
            CausalSequence(ConvNextBlock(width) for _ in range(depth))
            for depth, width in zip(depths, widths, strict=True)
        )
        self.norm = ChannelNorm(widths[-1])

    def forward(self, spectra: Tensor) -> Tensor:
        """Encode a whole sequence."""
        past, hidden = Past(), spectra
        for widen, stage in zip(self.downsample_layers, self.stages, strict=True):
            hidden = stage(widen(hidden, past), past)
        normed: Tensor = self.norm(hidden)
        return normed


class FsqGroup(nn.Module):
    """The projections of one channel group into and out of the space that is quantized."""

    def __init__(self, width: int, scalars: int) -> None:
        super().__init__()
        self.project_in = nn.Linear(width, scalars)
        self.project_out = nn.Linear(scalars, width)


class FsqGroups(nn.Module):
    """The projections of all channel groups, side by side."""

    def __init__(self, width: int, config: CodecConfig) -> None:
        super().__init__()
        groups = range(config.codebook_count)
        self.rvqs = nn.ModuleList(FsqGroup(width // len(groups), len(config.levels)) for _ in groups)

    def project_in(self, latents: Tensor) -> Tensor:
        """Map latents [..., width] to scalars [..., groups * scalars]."""
        parts = latents.chunk(len(self.rvqs), -1)
        return torch.cat([group.project_in(part) for group, part in self._with(parts)], -1)

    def project_out(self, scalars: Tensor) -> Tensor:
        """Map scalars [..., groups * scalars] to latents [..., width]."""
        parts = scalars.chunk(len(self.rvqs), -1)
        return torch.cat([group.project_out(part) for group, part in self._with(parts)], -1)

    def _with(self, parts: tuple[Tensor, ...]) -> list[tuple[FsqGroup, Tensor]]:
        groups = [group for group in self.rvqs if isinstance(group, FsqGroup)]
        return list(zip(groups, parts, strict=True))


class Quantizer(nn.Module):
    """Latents four times slower than spectra, their codes, and latents at the spectra's rate again."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        width, factors = config.latent_width, config.downsample_factors
        self.fsq = GroupedFsq(config.codebook_count, config.levels, bound_count=2)
        self.downsample = nn.ModuleList(
            CausalSequence([CausalConv(width, width, factor, stride=factor), ConvNextBlock(width)])
            for factor in factors
        )
        self.residual_fsq = FsqGroups(width, config)
        self.upsample = nn.ModuleList(
            CausalSequence([CausalTransposedConv(width, width, factor, factor), ConvNextBlock(width)])
            for factor in reversed(factors)
        )

    def down(self, features: Tensor) -> Tensor:
        """Map features [batch, width, time] to latents [batch, width, frames]."""
        past = Past()
        for sequence in self.downsample:
            features = sequence(features, past)
        return features

    def codes(self, latents: Tensor) -> Tensor:
        """Return the codes int64 [batch, frames, codebooks] of latents [batch, width, frames]."""
        return self.fsq.codes(self.fsq(self.residual_fsq.project_in(latents.transpose(1, 2))))

    def tables(self) -> list[Tensor]:
        """Return for each codebook the part of the latent, float32 [codes, width / codebooks], each code stands for."""
        every = torch.arange(self.fsq.codebook_size)[:, None].expand(-1, self.fsq.groups)
        return list(self.residual_fsq.project_out(self.fsq.dequantize(every)).chunk(self.fsq.groups, -1))

    def latents(self, codes: Tensor) -> Tensor:
        """Return the latents [batch, width, frames] of codes [batch, frames, codebooks]."""
        parts = [F.embedding(codes[..., group], table) for group, table in enumerate(self.tables())]
        return torch.cat(parts, -1).transpose(1, 2)

    def up(self, latents: Tensor, past: Past) -> Tensor:
        """Map latents [batch, width, frames] to the spectra's rate."""
        for sequence in self.upsample:
            latents = sequence(latents, past)
        return latents


class ResidualBlock(nn.Module):
    """Pairs of dilated convolutions of one kernel size; both of a pair have the same dilation."""

    def __init__(self, width: int, kernel: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.convs1 = nn.ModuleList(CausalConv(width, width, kernel, dilation=dilation) for dilation in dilations)
        self.convs2 = nn.ModuleList(CausalConv(width, width, kernel, dilation=dilation) for dilation in dilations)

    def forward(self, hidden: Tensor, past: Past) -> Tensor:
        """Map [batch, width, time] to the same shape."""
        for first, second in zip(self.convs1, self.convs2, strict=True):
            hidden = hidden + second(F.silu(first(F.silu(hidden), past)), past)
        return hidden


class ParallelBlocks(nn.Module):
    """The mean of residual blocks of several kernel sizes."""

    def __init__(self, width: int, kernels: tuple[int, ...], dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(ResidualBlock(width, kernel, dilations) for kernel in kernels)

    def forward(self, hidden: Tensor, past: Past) -> Tensor:
        """Map [batch, width, time] to the same shape."""
        return torch.stack([block(hidden, past) for block in self.blocks]).mean(0)


class Head(nn.Module):
    """The HiFi-GAN generator: latents [batch, width, time] to samples [batch, time * upsampling]."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        widths = [config.head_width >> stage for stage in range(len(config.upsample_rates) + 1)]
        self.conv_pre = CausalConv(config.latent_width, widths[0], config.edge_kernel)
        self.ups = nn.ModuleList(
            CausalTransposedConv(widths[stage], widths[stage + 1], kernel, rate)
            for stage, (rate, kernel) in enumerate(zip(config.upsample_rates, config.upsample_kernels, strict=True))
        )
        self.resblocks = nn.ModuleList(
            ParallelBlocks(width, config.block_kernels, config.block_dilations) for width in widths[1:]
        )
        self.conv_post = CausalConv(widths[-1], 1, config.edge_kernel)

    def forward(self, latents: Tensor, past: Past) -> Tensor:
        """Render samples in [-1, 1]."""
        hidden = self.conv_pre(latents, past)
        for up, blocks in zip(self.ups, self.resblocks, strict=True):
            hidden = blocks(up(F.silu(hidden), past), past)
        return torch.tanh(self.conv_post(F.silu(hidden), past))[:, 0]


class FishCodec(nn.Module):
    """Spectrum, encoder, quantizer and decoder."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        self.config = config
        self.mel = LogMel(config.sample_rate_hz, config.window_samples, config.hop_samples, config.bands)
        self.backbone = Backbone(config.bands, config.depths, config.widths)
        self.quantizer = Quantizer(config)
        self.head = Head(config)

    def encode(self, samples: Tensor) -> Tensor:
        """Return the codes int64 [batch, frames, codebooks] of samples [batch, count]; a last frame may be partial."""
        return self.quantizer.codes(self.quantizer.down(self.backbone(self.mel(samples))))

    def decode(self, codes: Tensor, past: Past) -> Tensor:
        """Return the samples [batch, frames * samples_per_frame] of codes [batch, frames, codebooks]."""
        rendered: Tensor = self.head(self.quantizer.up(self.quantizer.latents(codes), past), past)
        return rendered
