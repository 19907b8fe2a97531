"""Delays and sizes that follow from the sizes of the codec."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.networks.latent_codec_config import LatentCodecConfig

HOPS_PER_WINDOW = 4
"""Hops in one window of the (inverse) Fourier transform."""
_WINDOW_REACH = 2
"""Sub-frames after its own that a block of samples needs: windows reach two hops to either side of their center."""
_VECTOR = 16


@dataclass(frozen=True)
class VocoderGeometry:
    """Times in sub-frames (one hop each), and how the bins of a window lie.

    Bins lie in two combs, first the even ones, then the odd ones, because the two need half of a transform each. A comb
    is filled up to whole vectors: kernels of `Sin` and `Cos` compute the last elements of an array, where no vector is
    full, otherwise than the others, and samples would depend on how a stream was cut into calls.
    """

    config: LatentCodecConfig

    def __post_init__(self) -> None:
        """Check that bins and hop belong to the same transform."""
        if self.config.bins != self.half_samples + 1:
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
        """Sub-frames by which the spectra lag behind the decoder; samples then lag by whole frames."""
        return self.lookahead_frames * self.config.sub_frames - _WINDOW_REACH

    @property
    def tail_delay(self) -> int:
        """Sub-frames of `tail_lag` that the tail does not need itself."""
        return self.tail_lag - self.tail_reach

    @property
    def tail_reach(self) -> int:
        """Sub-frames after its own that a spectrum needs."""
        return self.config.tail_blocks * (self.config.tail_kernel // 2)

    @property
    def lookahead_frames(self) -> int:
        """Whole frames by which the samples of a stream lag behind its newest frame."""
        return -(-(self.tail_reach + _WINDOW_REACH) // self.config.sub_frames)

    @property
    def block_lags(self) -> list[int]:
        """Sub-frames by which the input of the tail, then the output of each of its blocks lag behind the decoder."""
        reach = self.config.tail_kernel // 2
        return [*(block * reach for block in range(self.config.tail_blocks)), self.tail_lag]

    @property
    def comb_places(self) -> int:
        """Places of a comb: room for the even bins, and for the samples of a hop."""
        return -(-(self.config.hop_samples + 1) // _VECTOR) * _VECTOR

    @property
    def combs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The bin at each place of the two combs; numbers behind the last bin are none."""
        even, odd = (parity + 2 * np.arange(self.comb_places) for parity in range(2))
        return even, odd
