"""Delays and transforms that follow from the sizes of the codec."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.value import Value
from build_engines.networks.latent_codec_config import LatentCodecConfig

HOPS_PER_WINDOW = 4
"""Hops in one window of the (inverse) Fourier transform."""
_WINDOW_REACH = 2
"""Sub-frames after its own that a block of samples needs: windows reach two hops to either side of their center."""
_SQUARED_WINDOWS = HOPS_PER_WINDOW * 3 / 8
"""Sum of the squared windows that overlap at any sample."""


@dataclass(frozen=True)
class VocoderGeometry:
    """Times in sub-frames (one hop each), transforms of one window.

    Windows are periodic Hann. Samples of a window are counted from its center outward, because the pairs at equal
    distance need one product instead of two. The matrices are not stored but written as a few nodes on one turn of a
    cosine and a sine, which every runtime folds when it loads the graph.
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

    def analysis(self, graph: GraphBuilder) -> tuple[Value, Value]:
        """Return the matrices [half, bins] from even and odd sums at distances 0 .. half-1 to real and imaginary parts.

        The even sum at distance 0 holds the center twice. Scaled so that a cosine of amplitude 1 peaks at 1.
        """
        window = self._window(self.half_samples) / (self.half_samples / 2)
        once = np.where(np.arange(self.half_samples) == 0, 0.5, 1.0)
        cosine, sine = self._turn()
        signs = self._center_signs()
        return self._matrix(graph, cosine, window * once, signs), self._matrix(graph, sine, -window, signs)

    def synthesis(self, graph: GraphBuilder) -> tuple[Value, Value]:
        """Return the matrices [bins, half + 1] from real and imaginary parts to even and odd samples of a window.

        The window and the sum of squared windows that overlap are included: overlapped frames only have to be added.
        """
        both = np.full(self.config.bins, 2.0)
        both[[0, -1]] = 1.0
        scale = both * self._center_signs()
        window = self._window(self.half_samples + 1) / (2 * self.half_samples * _SQUARED_WINDOWS)
        cosine, sine = self._turn()
        return self._matrix(graph, cosine, scale, window), self._matrix(graph, sine, scale, window)

    def _matrix(
        self,
        graph: GraphBuilder,
        turn: npt.NDArray[np.float64],
        rows: npt.NDArray[np.float64],
        columns: npt.NDArray[np.float64],
    ) -> Value:
        """Return turn[row * column] * rows[row] * columns[column]."""
        steps = graph.constant(np.arange(len(rows))[:, None]) * np.arange(len(columns))[None]
        angles = graph.gather(turn.astype(np.float32), steps % len(turn))
        return angles * rows.astype(np.float32)[:, None] * columns.astype(np.float32)[None]

    def _turn(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return one turn of cosine and sine in steps of the transform."""
        angles = np.pi * np.arange(2 * self.half_samples) / self.half_samples
        return np.cos(angles), np.sin(angles)

    def _center_signs(self) -> npt.NDArray[np.float64]:
        """Return e^(i pi bin): what a transform counted from the center instead of the start is multiplied by."""
        return np.where(np.arange(self.config.bins) % 2, -1.0, 1.0)

    def _window(self, distances: int) -> npt.NDArray[np.float64]:
        """Return the Hann window at distances from its center."""
        return 0.5 + 0.5 * np.cos(np.pi * np.arange(distances) / self.half_samples)
