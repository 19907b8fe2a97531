"""Renders whole utterances from codes with the torch networks: what every streamed sample must equal."""

import torch
from torch import Tensor, nn

from build_engines.networks.latent_codec import LatentCodec
from build_engines.networks.source_filter import SourceFilter
from build_engines.vocoder.noise import NoiseTable


class OfflineVocoder(nn.Module):
    """Codes -> decoder -> tail -> source and filter."""

    def __init__(self, codec: LatentCodec) -> None:
        super().__init__()
        self.codec = codec
        self.source_filter = SourceFilter(codec.config)
        self.noise_table = NoiseTable(codec.config.bins)

    @torch.no_grad()
    def forward(self, codes: Tensor, seed: int, voice: Tensor | None = None) -> Tensor:
        """Return samples float32 [batch, frames * samples per frame].

        Args:
            codes: int64 [batch, frames, codebooks].
            seed: of the noise.
            voice: voice vectors float32 [batch, voice width]; None for the voice that was trained first.
        """
        if voice is None:
            voice = torch.zeros(len(codes), self.codec.config.voice_width)
        scalars = self.codec.fsq.dequantize(codes)
        latent, log_f0, voicing = self.codec.split(self.codec.decoder(scalars))
        spectra, log_f0 = self.codec.spectra(latent, log_f0, voicing > 0, voice)
        f0_hz = torch.where(voicing > 0, log_f0.exp(), 0.0)
        noise = torch.from_numpy(self.noise_table.read(seed, f0_hz.shape[1]))
        rendered: Tensor = self.source_filter(spectra, f0_hz, noise[None])
        return rendered
