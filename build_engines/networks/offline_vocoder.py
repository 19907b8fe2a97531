"""Renders whole utterances from codes with the torch networks: what every streamed sample must equal."""

import math

import torch
from torch import Tensor, nn

from build_engines.networks.latent_codec import LatentCodec
from build_engines.networks.source_filter import SourceFilter
from build_engines.vocoder.noise import NoiseTable

HIGHEST_F0_HZ = 1000.0


class OfflineVocoder(nn.Module):
    """Codes -> decoder -> tail -> source and filter."""

    def __init__(self, codec: LatentCodec) -> None:
        super().__init__()
        self.codec = codec
        self.source_filter = SourceFilter(codec.config)
        self.noise_table = NoiseTable(codec.config.bins)

    @torch.no_grad()
    def forward(self, codes: Tensor, seed: int) -> Tensor:
        """Return samples float32 [batch, frames * samples per frame] of codes int64 [batch, frames, codebooks]."""
        scalars = self.codec.fsq.dequantize(codes)
        latent, log_f0, voicing = self.codec.split(self.codec.decoder(scalars))
        f0_hz = torch.where(voicing > 0, log_f0.clamp_max(math.log(HIGHEST_F0_HZ)).exp(), 0.0)
        noise = torch.from_numpy(self.noise_table.read(seed, f0_hz.shape[1]))
        rendered: Tensor = self.source_filter(self.codec.tail(latent), f0_hz, noise[None])
        return rendered
