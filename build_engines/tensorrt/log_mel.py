"""Log-mel spectra, to say how differently two recordings of the same samples sound."""

import numpy as np
import numpy.typing as npt

_WINDOW_SAMPLES = 1024
_HOP_SAMPLES = 256
_BANDS = 80
_FLOOR_DB = -80.0

Samples = npt.NDArray[np.float32]


def mel_distance_db(samples: Samples, reference: Samples, sample_rate_hz: int) -> float:
    """Return the mean difference of two log-mel spectra in dB, down to 80 dB below the reference's loudest band."""
    ours, theirs = (_log_mel(signal, sample_rate_hz) for signal in (samples, reference))
    floor = float(theirs.max()) + _FLOOR_DB
    return float(np.abs(np.maximum(ours, floor) - np.maximum(theirs, floor)).mean())


def _log_mel(samples: Samples, sample_rate_hz: int) -> npt.NDArray[np.float64]:
    padded = np.pad(samples.astype(np.float64), (0, max(0, _WINDOW_SAMPLES - len(samples))))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW_SAMPLES)[::_HOP_SAMPLES]
    power = np.abs(np.fft.rfft(windows * np.hanning(_WINDOW_SAMPLES), axis=-1)) ** 2
    levels: npt.NDArray[np.float64] = 10 * np.log10(power @ _mel_bands(sample_rate_hz).T + 1e-12)
    return levels


def _mel_bands(sample_rate_hz: int) -> npt.NDArray[np.float64]:
    """Return triangles [bands, bins], evenly spaced on the mel scale (O'Shaughnessy, 1987)."""
    highest = 2595 * np.log10(1 + sample_rate_hz / 2 / 700)
    edges_hz = 700 * (10 ** (np.linspace(0, highest, _BANDS + 2) / 2595) - 1)
    bins_hz = np.linspace(0, sample_rate_hz / 2, _WINDOW_SAMPLES // 2 + 1)
    rising = (bins_hz - edges_hz[:-2, None]) / (edges_hz[1:-1] - edges_hz[:-2])[:, None]
    falling = (edges_hz[2:, None] - bins_hz) / (edges_hz[2:] - edges_hz[1:-1])[:, None]
    return np.clip(np.minimum(rising, falling), 0, None)
