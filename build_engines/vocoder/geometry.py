"""Delays and transforms that follow from the sizes of the codec."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.networks.latent_codec_config import LatentCodecConfig

HOPS_PER_WINDOW = 4
"""Hops in one window of the (inverse) Fourier transform."""
_WINDOW_REACH = 2
"""Sub-frames after its own that a block of samples needs: windows reach two hops to either side of their center."""


@dataclass(frozen=True)
class VocoderGeometry:
    """Times in sub-frames (one hop each), transforms of one window.

    Windows are periodic Hann. Samples of a window are counted from its center outward, because the pairs at equal
    distance need one product instead of two: `after` holds distances 0 .. half-1, `before` distances 1 .. half.
    """

    config: LatentCodecConfig

    def __post_init__(self) -> None:
        """Check that bins and hop belong to the same transform."""
        if 2 * (self.config.bins - 1) != HOPS_PER_WINDOW * self.config.hop_samples:
            raise ValueError(
                f"The codec has {self.config.bins} bins, but a window of {HOPS_PER_WINDOW} hops of "
                f"{self.config.hop_samples} samples has {self.half_samples + 1}; change `bins` or `hop_samples`."
            )

    @property
    def half_samples(self) -> int:
        """Samples of half a window."""
        return HOPS_PER_WINDOW * self.config.hop_samples // 2

    @property
    def tail_lag(self) -> int:
        """Sub-frames by which the spectra lag behind the decoder."""
        return self.config.tail_blocks * (self.config.tail_kernel // 2)

    @property
    def sample_lag(self) -> int:
        """Sub-frames by which finished samples lag behind the decoder."""
        return self.tail_lag + _WINDOW_REACH

    @property
    def lookahead_frames(self) -> int:
        """Whole frames by which the samples of a stream lag behind its newest frame."""
        return -(-self.sample_lag // self.config.sub_frames)

    def analysis(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the matrices [half, bins] from even and odd sums at distances 0 .. half-1 to real and imaginary parts.

        The even sum at distance 0 holds the center twice. Scaled so that a cosine of amplitude 1 peaks at 1.
        """
        angles, signs = self._angles(self.half_samples)
        window = self._window(self.half_samples) / (self.half_samples / 2)
        cosines = window[:, None] * np.cos(angles).T * signs
        cosines[0] /= 2
        return cosines.astype(np.float32), (-window[:, None] * np.sin(angles).T * signs).astype(np.float32)

    def synthesis(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the matrices [bins, half + 1] from real and imaginary parts to even and odd samples of a window.

        The window and the sum of squared windows that overlap are included: overlapped frames only have to be added.
        """
        angles, signs = self._angles(self.half_samples + 1)
        weight = np.full(self.config.bins, 2.0)
        weight[[0, -1]] = 1.0
        squares = HOPS_PER_WINDOW * 3 / 8
        window = self._window(self.half_samples + 1) / (2 * self.half_samples * squares)
        scale = (weight * signs)[:, None] * window
        return (scale * np.cos(angles)).astype(np.float32), (scale * np.sin(angles)).astype(np.float32)

    def _angles(self, distances: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return 2 pi bin distance / n_fft [bins, distances], and the sign of each bin at the center."""
        bins = np.arange(self.config.bins)
        turns = bins[:, None] * np.arange(distances) % (2 * self.half_samples) / (2 * self.half_samples)
        return 2 * np.pi * turns, np.where(bins % 2, -1.0, 1.0)

    def _window(self, distances: int) -> npt.NDArray[np.float64]:
        """Return the Hann window at distances from its center."""
        return 0.5 + 0.5 * np.cos(np.pi * np.arange(distances) / self.half_samples)
