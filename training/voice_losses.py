"""How far sound is from sound: spectra of several windows, mel bands, and the phase of what is voiced and low."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from training.kokoro import HOP_SAMPLES, SAMPLE_RATE_HZ

_WINDOWS = (2048, 1024, 512, 240)
_MEL_WINDOW, _MEL_BANDS, _MEL_TOP_HZ, _MEL_FLOOR = 2048, 80, 12_000, 0.02
_PHASE_WINDOW, _PHASE_TOP_HZ, _PHASE_POWER = 1024, 4000, 0.4
_LEVEL_FLOOR = 2e-3


class SoundLoss:
    """Compares samples; made once, because its windows and bands are."""

    def __init__(self) -> None:
        self._windows = {size: torch.hann_window(size) for size in _WINDOWS}
        self._bands = _mel_bands()

    def __call__(self, made: Tensor, wanted: Tensor, is_voiced: Tensor) -> dict[str, Tensor]:
        """Return the named parts of the loss.

        Args:
            made: float32 [batch, samples].
            wanted: float32 [batch, samples].
            is_voiced: float32 [batch, frames] at 80 Hz, 1 where voiced.
        """
        parts = {"level": torch.zeros(()), "convergence": torch.zeros(())}
        for size in _WINDOWS:
            ours, theirs = self._spectrum(made, size), self._spectrum(wanted, size)
            our_size, their_size = ours.abs(), theirs.abs()
            floor = _LEVEL_FLOOR * math.sqrt(size)
            difference = torch.log(our_size + floor) - torch.log(their_size + floor)
            parts["level"] = parts["level"] + 2 * difference.abs().mean() / len(_WINDOWS)
            distance = (our_size - their_size).norm() / their_size.norm()
            parts["convergence"] = parts["convergence"] + distance / len(_WINDOWS)
            if size == _MEL_WINDOW:
                logs = [torch.log(self._bands @ part + _MEL_FLOOR) for part in (our_size, their_size)]
                parts["mel"] = 2 * (logs[0] - logs[1]).abs().mean()
            if size == _PHASE_WINDOW:
                parts["phase"] = _phase_distance(ours, theirs, is_voiced)
        return parts

    def _spectrum(self, samples: Tensor, size: int) -> Tensor:
        return torch.stft(samples, size, size // 4, size, self._windows[size], return_complex=True, center=False)


def _phase_distance(ours: Tensor, theirs: Tensor, is_voiced: Tensor) -> Tensor:
    """Compare low bins [batch, bins, windows] as numbers in the plane, their magnitudes compressed."""
    low = int(_PHASE_TOP_HZ / SAMPLE_RATE_HZ * _PHASE_WINDOW)
    flat = []
    for part in (ours[:, :low], theirs[:, :low]):
        magnitude = part.abs() + 1e-4
        flat.append(part / magnitude * magnitude.pow(_PHASE_POWER))
    spread = is_voiced.repeat_interleave(HOP_SAMPLES, 1)[:, None]
    share = F.avg_pool1d(spread, _PHASE_WINDOW, _PHASE_WINDOW // 4)[:, :, : ours.shape[-1]]
    return ((flat[0] - flat[1]).abs() * share).mean()


def _mel_bands() -> Tensor:
    """Return triangles float32 [bands, bins] on the mel scale (2595 log10(1 + f / 700))."""
    top = 2595 * np.log10(1 + _MEL_TOP_HZ / 700)
    edges = 700 * (10 ** (np.linspace(0, top, _MEL_BANDS + 2) / 2595) - 1)
    bins = np.fft.rfftfreq(_MEL_WINDOW, 1 / SAMPLE_RATE_HZ)[None]
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    bands = np.maximum(0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)))
    return torch.from_numpy(bands.astype(np.float32))
