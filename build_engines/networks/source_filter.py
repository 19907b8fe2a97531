"""The default voice's renderer for whole utterances: spectra and pitch in, samples out. The vocoder graph streams it.

S = exp(lh) e^(i pi tanh(theta)) STFT(pulses(f0)) + exp(ln) noise + exp(lr) e^(i phi), inverted by overlap-add. Outside
the utterance pulses and spectra are zero, so the last hop fades out by itself and nothing is normalized by its edges.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from build_engines.networks.latent_codec_config import SPECTRUM_PARTS, LatentCodecConfig

VOICED_ABOVE_HZ = 40.0
HIGHEST_HARMONIC_HZ = 11_000.0
LOUDEST_LOG_MAGNITUDE = 7.0
_NEAR_PULSE = 2e-3
_HOPS_PER_WINDOW = 4


class SourceFilter(nn.Module):
    """Renders samples; differentiable in the spectra."""

    window: Tensor
    interpolation: Tensor

    def __init__(self, config: LatentCodecConfig) -> None:
        super().__init__()
        self.config = config
        self.window_samples = _HOPS_PER_WINDOW * config.hop_samples
        self.register_buffer("window", torch.hann_window(self.window_samples), persistent=False)
        offset = (torch.arange(config.hop_samples) + 0.5) / config.hop_samples - 0.5
        weights = torch.stack([(-offset).clamp_min(0), 1 - offset.abs(), offset.clamp_min(0)])
        self.register_buffer("interpolation", weights, persistent=False)

    def forward(self, spectra: Tensor, f0_hz: Tensor, noise: Tensor) -> Tensor:
        """Render [batch, time * hop_samples] samples.

        Args:
            spectra: float32 [batch, time, 5 * bins]: lh, theta, ln, lr, phi.
            f0_hz: float32 [batch, time], 0 where unvoiced.
            noise: complex64 [batch, time, bins], standard normal in both parts.
        """
        return self.from_pulses(spectra, self.pulses(f0_hz), noise)

    def from_pulses(self, spectra: Tensor, pulses: Tensor, noise: Tensor) -> Tensor:
        """Render as `forward` does, from the pulses [batch, time * hop_samples] themselves."""
        harmonic, theta, noisy, free, phi = spectra.split(spectra.shape[-1] // SPECTRUM_PARTS, -1)
        filtered = self._source(pulses) * torch.polar(_magnitude(harmonic), math.pi * torch.tanh(theta))
        filtered = filtered + noise * _magnitude(noisy) + torch.polar(_magnitude(free), phi)
        return self._overlap(torch.fft.irfft(filtered, self.window_samples, -1) * self.window)

    def pulses(self, f0_hz: Tensor) -> Tensor:
        """Return a train of band-limited pulses [batch, time * hop_samples], zero where unvoiced.

        All harmonics below 11 kHz at amplitude 1 add up to sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2.
        """
        padded = torch.cat([f0_hz[:, :1], f0_hz, f0_hz[:, -1:]], 1)
        pitch = (padded.unfold(1, 3, 1) @ self.interpolation).flatten(1)
        clear = pitch.clamp_min(VOICED_ABOVE_HZ)
        phase = (clear.double() / self.config.sample_rate_hz).cumsum(1).frac().float() * (2 * math.pi)
        harmonics = torch.floor(HIGHEST_HARMONIC_HZ / clear) + 0.5
        near = 2 * torch.sin(phase / 2)
        is_near = near.abs() <= _NEAR_PULSE
        ratio = torch.sin(harmonics * phase) / torch.where(is_near, 1.0, near)
        train = torch.where(is_near, harmonics, ratio) - 0.5
        return torch.where(pitch > VOICED_ABOVE_HZ, train, 0.0)

    def _source(self, pulses: Tensor) -> Tensor:
        """Return the spectrum complex64 [batch, time, bins] of the pulses; a cosine of amplitude 1 peaks at 1."""
        half = self.window_samples // 2
        hop, time = self.config.hop_samples, pulses.shape[1] // self.config.hop_samples
        framed = F.pad(pulses, (half, half)).unfold(1, self.window_samples, hop)
        spectrum: Tensor = torch.fft.rfft(framed[:, :time] * self.window / (half / 2), dim=-1)
        return spectrum

    def _overlap(self, framed: Tensor) -> Tensor:
        """Add windows [batch, time, window] a hop apart, and cut the half window before the first center."""
        batch, time, _ = framed.shape
        hop = self.config.hop_samples
        blocks = framed.new_zeros(batch, time + _HOPS_PER_WINDOW, hop)
        for index, part in enumerate(framed.unflatten(2, (_HOPS_PER_WINDOW, hop)).unbind(2)):
            blocks = blocks + F.pad(part, (0, 0, index, _HOPS_PER_WINDOW - index))
        squares = _HOPS_PER_WINDOW * 3 / 8
        cut = _HOPS_PER_WINDOW // 2
        return blocks[:, cut : cut + time].flatten(1) / squares


def _magnitude(log_magnitude: Tensor) -> Tensor:
    return torch.exp(log_magnitude.clamp_max(LOUDEST_LOG_MAGNITUDE))
