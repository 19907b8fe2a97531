"""Windows to spectra and back: Fourier transforms as matrix products a quarter of the size, thanks to symmetry.

Samples at equal distance before and after the center of a window share a product (cosines are even, sines odd), and so
do those at distance d from the center and at d from the ends (even bins are even there, odd bins odd). What is left are
four products of one hop by half of the bins, for real and imaginary parts of even and odd bins.

Distances count from 0 to one hop, both included. Of the four hops of a window the first and the third lie in the order
of their distances, the second and the fourth backwards. Windows are periodic Hann.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.value import Value
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.cuts import backwards, block, steps
from build_engines.vocoder.geometry import HOPS_PER_WINDOW, VocoderGeometry

_SQUARED_WINDOWS = HOPS_PER_WINDOW * 3 / 8
"""Sum of the squared windows that overlap at any sample."""

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Transform:
    """Both directions.

    The matrices are not stored but written as a few nodes on one turn of a cosine and a sine, which every runtime folds
    when it loads the graph.

    Attributes:
        geometry: of the codec.
    """

    geometry: VocoderGeometry

    def analyze(self, train: Value, state: CarriedState) -> tuple[Value, Value]:
        """Return real and imaginary parts [N, time, 1, both combs] of windows that end with each hop.

        Scaled so that a cosine of amplitude 1 peaks at 1.

        Args:
            train: float32 [N, time, 1, comb], hops of samples, zero behind the hop.
            state: carries three hops.
        """
        config, hop = self.geometry.config, self.geometry.config.hop_samples
        joined = state.join(train, HOPS_PER_WINDOW - 1, config.sub_frames, self.geometry.comb_places)
        mirrored = backwards(joined, hop, hop + 1)
        inner, outer = self._windows()
        after, before = block(joined, 2, 1, 0, hop + 1), steps(mirrored, 1, 2)
        even, odd = (after + before) * inner, (after - before) * inner
        first, last = block(joined, 0, 3, 0, hop + 1), steps(mirrored, 3, 0)
        far_even, far_odd = (last + first) * outer, (last - first) * outer
        cosines, sines = self._analysis(train.graph)
        real = [(even + far_even) @ cosines[0], (even - far_even) @ cosines[1]]
        imaginary = [(odd - far_odd) @ sines[0], (odd + far_odd) @ sines[1]]
        return train.graph.concat(real, 3), train.graph.concat(imaginary, 3)

    def synthesize(self, real: Value, imaginary: Value, state: CarriedState) -> Value:
        """Invert spectra [N, time, 1, both combs], and add the windows, a hop apart, that overlap.

        Args:
            real: parts of the spectra.
            imaginary: parts of the spectra.
            state: carries what later windows are added to.

        Returns:
            float32 [N, time, 1, hop] samples: for each spectrum the hop that no later window reaches, its first one.
        """
        graph, rate, hop = real.graph, self.geometry.config.sub_frames, self.geometry.config.hop_samples
        cosines, sines = self._synthesis(graph)
        even, odd = (part @ matrix for part, matrix in zip(self._combs(real), cosines, strict=True))
        even_sine, odd_sine = (part @ matrix for part, matrix in zip(self._combs(imaginary), sines, strict=True))
        inner, outer = self._windows()
        near, near_sine = (even + odd) * inner, (even_sine + odd_sine) * inner
        far, far_sine = (even - odd) * outer, (odd_sine - even_sine) * outer
        first, second, third, fourth = far + far_sine, near + near_sine, near - near_sine, far - far_sine
        later = state.join(graph.concat([third, fourth], 3), 2, rate, 2 * (hop + 1))
        backward = second + block(later, 0, 2, hop + 1, 2 * (hop + 1))
        inner_hops = backwards(backward, hop, hop) + block(later, 1, 1, 0, hop)
        return block(first, 0, 0, 0, hop) + steps(state.join(inner_hops, 1, rate, hop), 0, 1)

    def _combs(self, spectrum: Value) -> list[Value]:
        return spectrum.graph.split(spectrum, [self.geometry.comb_places] * 2, 3)

    def _windows(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the Hann window at each distance from the center, and at each distance from the ends."""
        cosine = np.cos(np.pi * self._distances() / self.geometry.half_samples)
        return (0.5 + 0.5 * cosine).astype(np.float32), (0.5 - 0.5 * cosine).astype(np.float32)

    def _analysis(self, graph: GraphBuilder) -> tuple[list[Value], list[Value]]:
        """Return for each comb the matrices [distances, comb] to real and to imaginary parts."""
        cosine, sine = self._turn()
        scale = 2 / self.geometry.half_samples
        found: tuple[list[Value], list[Value]] = ([], [])
        for bins, sign in zip(self.geometry.combs, (1.0, -1.0), strict=True):
            scales = np.where(bins < self.geometry.config.bins, scale * sign, 0.0)
            found[0].append(_matrix(graph, cosine, (self._distances(), bins), scales[None]))
            found[1].append(_matrix(graph, sine, (self._distances(), bins), -scales[None]))
        return found

    def _synthesis(self, graph: GraphBuilder) -> tuple[list[Value], list[Value]]:
        """Return for each comb the matrices [comb, distances] from real and from imaginary parts to samples."""
        cosine, sine = self._turn()
        last = self.geometry.config.bins - 1
        scale = 2 / (2 * self.geometry.half_samples * _SQUARED_WINDOWS)
        found: tuple[list[Value], list[Value]] = ([], [])
        for bins, sign in zip(self.geometry.combs, (1.0, -1.0), strict=True):
            once = np.where((bins == 0) | (bins == last), 0.5, 1.0)
            scales = np.where(bins <= last, once * scale * sign, 0.0)[:, None]
            found[0].append(_matrix(graph, cosine, (bins, self._distances()), scales))
            found[1].append(_matrix(graph, sine, (bins, self._distances()), scales))
        return found

    def _distances(self) -> npt.NDArray[np.int64]:
        return np.arange(self.geometry.config.hop_samples + 1)

    def _turn(self) -> tuple[Doubles, Doubles]:
        """Return one turn of cosine and sine in steps of the transform."""
        angles = np.pi * np.arange(2 * self.geometry.half_samples) / self.geometry.half_samples
        return np.cos(angles), np.sin(angles)


def _matrix(
    graph: GraphBuilder, turn: Doubles, places: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], scales: Doubles
) -> Value:
    """Return turn[row * column] * scales, for the numbers of rows and of columns."""
    rows, columns = places
    angles = graph.constant(rows[:, None]) * columns[None] % len(turn)
    return graph.gather(turn.astype(np.float32), angles) * scales.astype(np.float32)
