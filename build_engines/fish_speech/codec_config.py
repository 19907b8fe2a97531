"""The sizes of Fish Speech's codec. The checkpoint has none in it; the defaults are those of release 1.5."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CodecConfig:
    """Sizes of the codec.

    Attributes:
        sample_rate_hz, window_samples, hop_samples, bands: of the log-mel spectrum.
        depths, widths: blocks and channels of each encoder stage; the last width is the latent's.
        codebook_count, levels: channel groups of the quantizer, and the levels of each of a group's scalars.
        downsample_factors: how much slower frames are than spectra, in steps.
        head_width: channels of the decoder before its first upsampling, halved by each.
        upsample_rates, upsample_kernels: of the decoder's stages.
        block_kernels, block_dilations: of its residual blocks.
        edge_kernel: of its first and last convolution.
    """

    sample_rate_hz: int = 44_100
    window_samples: int = 2048
    hop_samples: int = 512
    bands: int = 160
    depths: tuple[int, ...] = (3, 3, 9, 3)
    widths: tuple[int, ...] = (128, 256, 384, 512)
    codebook_count: int = 8
    levels: tuple[int, ...] = (8, 5, 5, 5)
    downsample_factors: tuple[int, ...] = (2, 2)
    head_width: int = 512
    upsample_rates: tuple[int, ...] = (8, 8, 2, 2, 2)
    upsample_kernels: tuple[int, ...] = (16, 16, 4, 4, 4)
    block_kernels: tuple[int, ...] = (3, 7, 11)
    block_dilations: tuple[int, ...] = (1, 3, 5)
    edge_kernel: int = 13

    @property
    def latent_width(self) -> int:
        """Channels of the latent, over all groups."""
        return self.widths[-1]

    @property
    def samples_per_frame(self) -> int:
        """Samples of one frame of codes."""
        return math.prod(self.downsample_factors) * math.prod(self.upsample_rates)

    @property
    def code_count(self) -> int:
        """Codes of a codebook that exist: 1000, though the talker's tables have 1024 rows."""
        return math.prod(self.levels)


def codec_config(values: Mapping[str, Any]) -> CodecConfig:
    """Return the sizes written in the nested form of the original's own configuration."""
    spectrum, backbone = values["spec_transform"], values["backbone"]
    quantizer, head = values["quantizer"], values["head"]
    return CodecConfig(
        sample_rate_hz=spectrum["sample_rate"],
        window_samples=spectrum["win_length"],
        hop_samples=spectrum["hop_length"],
        bands=spectrum["n_mels"],
        depths=tuple(backbone["depths"]),
        widths=tuple(backbone["dims"]),
        codebook_count=quantizer["n_groups"],
        levels=tuple(quantizer["levels"]),
        downsample_factors=tuple(quantizer["downsample_factor"]),
        head_width=head["upsample_initial_channel"],
        upsample_rates=tuple(head["upsample_rates"]),
        upsample_kernels=tuple(head["upsample_kernel_sizes"]),
        block_kernels=tuple(head["resblock_kernel_sizes"]),
        block_dilations=tuple(head["resblock_dilation_sizes"][0]),
        edge_kernel=head["pre_conv_kernel_size"],
    )
