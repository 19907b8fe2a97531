"""The default voice's codec: 80 Hz teacher latents and pitch <-> 20 Hz frames of FSQ codes -> spectra.

Encoder (offline, not causal) -> grouped FSQ -> causal decoder -> latent, log F0, voicing -> the teacher's last blocks
and spectral head (`tail`). `vocoder.py` renders the spectra.
"""

import torch
from torch import Tensor, nn

from build_engines.networks.convnext import ConvNextBlock
from build_engines.networks.fsq import GroupedFsq
from build_engines.networks.latent_codec_config import HIGHEST_LOG_F0, PITCH_NUMBERS
from build_engines.networks.latent_codec_config import SPECTRUM_PARTS as SPECTRUM_PARTS
from build_engines.networks.latent_codec_config import LatentCodecConfig as LatentCodecConfig
from build_engines.networks.timbre import TimbredTail, moved_log_f0, pitch_features


class Encoder(nn.Module):
    """Standardized features [batch, 80 Hz time, feature_width] -> FSQ scalars [batch, 20 Hz time, fsq width]."""

    def __init__(self, config: LatentCodecConfig, fsq_width: int) -> None:
        super().__init__()
        self.sub_frames = config.sub_frames
        self.inlet = nn.Linear(config.feature_width, config.narrow)
        self.narrow = nn.Sequential(
            *[ConvNextBlock(config.narrow, 7, 3, is_causal=False) for _ in range(config.encoder_blocks_narrow)]
        )
        self.down = nn.Linear(config.sub_frames * config.narrow, config.wide)
        self.wide = nn.Sequential(
            *[ConvNextBlock(config.wide, 5, 3, is_causal=False) for _ in range(config.encoder_blocks_wide)],
            nn.LayerNorm(config.wide),
        )
        self.outlet = nn.Linear(config.wide, fsq_width)

    def forward(self, features: Tensor) -> Tensor:
        """Encode; the time axis must be a multiple of `sub_frames`."""
        hidden = self.narrow(self.inlet(features))
        stacked = hidden.unflatten(1, (-1, self.sub_frames)).flatten(2)
        encoded: Tensor = self.outlet(self.wide(self.down(stacked)))
        return encoded


class Decoder(nn.Module):
    """FSQ scalars [batch, 20 Hz time, fsq width] -> standardized features [batch, 80 Hz time, width]; causal."""

    def __init__(self, config: LatentCodecConfig, fsq_width: int) -> None:
        super().__init__()
        self.sub_frames = config.sub_frames
        self.inlet = nn.Linear(fsq_width, config.wide)
        self.wide = nn.ModuleList(
            ConvNextBlock(config.wide, 5, 3, is_causal=True) for _ in range(config.decoder_blocks)
        )
        self.up = nn.Linear(config.wide, config.sub_frames * config.narrow)
        self.narrow = nn.ModuleList(
            ConvNextBlock(config.narrow, 7, 3, is_causal=True) for _ in range(config.refiner_blocks)
        )
        self.norm = nn.LayerNorm(config.narrow)
        self.outlet = nn.Linear(config.narrow, config.feature_width)

    def forward(self, scalars: Tensor) -> Tensor:
        """Decode a whole sequence."""
        hidden = self.inlet(scalars)
        for block in self.wide:
            hidden = block(hidden)
        hidden = self.up(hidden).unflatten(2, (self.sub_frames, -1)).flatten(1, 2)
        for block in self.narrow:
            hidden = block(hidden)
        decoded: Tensor = self.outlet(self.norm(hidden))
        return decoded


class SpectralTail(nn.Module):
    """The teacher's last blocks: latent [batch, time, 256] -> spectra [batch, time, 5 * bins], lh theta ln lr phi."""

    def __init__(self, config: LatentCodecConfig) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            ConvNextBlock(config.latent_width, config.tail_kernel, config.tail_expansion, is_causal=False)
            for _ in range(config.tail_blocks)
        )
        self.norm = nn.LayerNorm(config.latent_width)
        self.head = nn.Linear(config.latent_width, SPECTRUM_PARTS * config.bins)

    def forward(self, latent: Tensor) -> Tensor:
        """Predict the spectra of a whole sequence."""
        for block in self.blocks:
            latent = block(latent)
        spectra: Tensor = self.head(self.norm(latent))
        return spectra


class LatentCodec(nn.Module):
    """Encoder, quantizer, decoder and tail, with the statistics that standardize the features."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, config: LatentCodecConfig) -> None:
        super().__init__()
        self.config = config
        self.fsq = GroupedFsq(config.codebook_count, config.levels)
        self.encoder = Encoder(config, self.fsq.width)
        self.decoder = Decoder(config, self.fsq.width)
        self.tail = SpectralTail(config)
        self.timbre = TimbredTail(config) if config.timbre_width else None
        self.register_buffer("mean", torch.zeros(config.feature_width))
        self.register_buffer("deviation", torch.ones(config.feature_width))

    def features(self, latent: Tensor, f0_hz: Tensor) -> Tensor:
        """Stack latent [..., time, width] and pitch [..., time] into standardized features."""
        voiced = (f0_hz > VOICED_HZ).to(latent.dtype)
        log_f0 = torch.log(f0_hz.clamp_min(60.0)) * voiced + self.mean[-2] * (1 - voiced)
        stacked = torch.cat([latent, log_f0[..., None], voiced[..., None]], -1)
        return (stacked - self.mean) / self.deviation

    def encode(self, features: Tensor) -> Tensor:
        """Return the quantized scalars of standardized features."""
        quantized: Tensor = self.fsq(self.encoder(features))
        return quantized

    def spectra(self, latent: Tensor, log_f0: Tensor, is_voiced: Tensor, voice: Tensor) -> tuple[Tensor, Tensor]:
        """Return spectra [batch, time, 5 * bins] and log pitch [batch, time] of whole utterances, each in its voice.

        Args:
            latent: float32 [batch, time, width].
            log_f0: float32 [batch, time].
            is_voiced: bool [batch, time].
            voice: float32 [batch, voice width]; zeros are the voice that was trained first.
        """
        if self.timbre is None:
            return self.tail(latent), log_f0.clamp_max(HIGHEST_LOG_F0)
        log_f0 = moved_log_f0(log_f0, voice).clamp_max(HIGHEST_LOG_F0)
        return self.timbre(self.tail, latent, pitch_features(log_f0, is_voiced), voice[:, :-PITCH_NUMBERS]), log_f0

    def split(self, decoded: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return latent, log F0 and the voicing logit of decoded features, in natural units."""
        natural = decoded.float() * self.deviation + self.mean
        width = self.config.latent_width
        return natural[..., :width], natural[..., width], decoded[..., width + 1].float()


VOICED_HZ = 40.0
