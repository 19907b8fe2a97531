"""The log-mel spectrum that Fish Speech's encoder reads, written as matrix products so that every engine has it."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_POWER_FLOOR = 1e-6
_MEL_FLOOR = 1e-5
_LINEAR_HZ_PER_MEL = 200 / 3
_LOG_START_HZ = 1000.0
_LOG_STEP = math.log(6.4) / 27


class LogMel(nn.Module):
    """Samples to the natural logarithm of Slaney mel bands.

    Attributes:
        hop_samples: samples per spectrum; a spectrum looks 2.5 hops around its own.
    """

    basis: Tensor
    bands: Tensor

    def __init__(self, sample_rate_hz: int, window_samples: int, hop_samples: int, band_count: int) -> None:
        super().__init__()
        self.hop_samples = hop_samples
        self.padding = (window_samples - hop_samples) // 2
        self.register_buffer("basis", fourier_basis(window_samples)[:, None], persistent=False)
        bands = slaney_bands(sample_rate_hz, window_samples // 2 + 1, band_count)
        self.register_buffer("bands", bands, persistent=False)

    @property
    def least_samples(self) -> int:
        """Fewer samples than this cannot be mirrored at their ends."""
        return self.padding + 1

    def forward(self, samples: Tensor) -> Tensor:
        """Map samples [batch, count] to bands [batch, band_count, count // hop_samples]."""
        padded = F.pad(samples[:, None], (self.padding, self.padding), mode="reflect")
        real, imaginary = F.conv1d(padded, self.basis, stride=self.hop_samples).chunk(2, 1)
        magnitude = (real.square() + imaginary.square() + _POWER_FLOOR).sqrt()
        return (self.bands @ magnitude).clamp(min=_MEL_FLOOR).log()


def fourier_basis(window_samples: int) -> Tensor:
    """Return a windowed real Fourier basis float32 [2 * bins, window_samples]: cosines, then negative sines."""
    time = torch.arange(window_samples, dtype=torch.float64)
    window = 0.5 - 0.5 * torch.cos(2 * math.pi * time / window_samples)
    bins = torch.arange(window_samples // 2 + 1, dtype=torch.float64)
    # Whole turns are taken off in integers: the angle of a late sample of a high bin would lose digits otherwise.
    angles = (bins[:, None] * time).remainder(window_samples) * (2 * math.pi / window_samples)
    return (torch.cat([angles.cos(), -angles.sin()]) * window).float()


def slaney_bands(sample_rate_hz: int, bin_count: int, band_count: int) -> Tensor:
    """Return triangular mel filters float32 [band_count, bin_count] of unit area, linear below 1 kHz (Slaney, 1998)."""
    top_mel = _LOG_START_HZ / _LINEAR_HZ_PER_MEL + math.log(sample_rate_hz / 2 / _LOG_START_HZ) / _LOG_STEP
    edges_hz = _mel_to_hz(torch.linspace(0, top_mel, band_count + 2, dtype=torch.float64))
    bins_hz = torch.linspace(0, sample_rate_hz / 2, bin_count, dtype=torch.float64)
    low, center, high = edges_hz[:-2, None], edges_hz[1:-1, None], edges_hz[2:, None]
    rising, falling = (bins_hz - low) / (center - low), (high - bins_hz) / (high - center)
    return (torch.minimum(rising, falling).clamp(min=0) * (2 / (high - low))).float()


def _mel_to_hz(mels: Tensor) -> Tensor:
    knee = _LOG_START_HZ / _LINEAR_HZ_PER_MEL
    return torch.where(mels < knee, mels * _LINEAR_HZ_PER_MEL, _LOG_START_HZ * ((mels - knee) * _LOG_STEP).exp())
