"""The noise of the vocoder: a fixed table of complex Gaussian numbers, read in an order that seed and time decide."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.value import Value

_TABLE_SEED = 20
_LOW_ROWS, _HIGH_ROWS = 257, 251
"""Two primes: the low and the high half of the spectrum repeat together only after 64,507 sub-frames."""
_LOW_STEPS, _HIGH_STEPS = (97, 101), (59, 89)
"""Rows that one step of the seed, and one of time, move on."""


@dataclass(frozen=True)
class NoiseTable:
    """Standard normal real and imaginary parts, in float16, for windows of `bins` bins.

    Attributes:
        bins: spectral bins of one window.
    """

    bins: int

    def tables(self) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.float16]]:
        """Return the low bins [257, 2, low bins] and the high bins [251, 2, high bins]."""
        generator = np.random.default_rng(_TABLE_SEED)
        low = self.bins // 2
        shapes = ((_LOW_ROWS, 2, low), (_HIGH_ROWS, 2, self.bins - low))
        first, second = (generator.standard_normal(shape).astype(np.float16) for shape in shapes)
        return first, second

    def draw(self, seed: Value, place: Value, combs: Sequence[npt.NDArray[np.int64]]) -> Value:
        """Return real and imaginary parts float32 [N, time, 2, bins of all combs].

        Args:
            seed: int64 [N].
            place: int64 [N, time], sub-frames from the start of the segment.
            combs: the bins of each comb, ascending; numbers that are no bins stand behind, and give zeros.
        """
        graph, start = seed.graph, seed.unsqueeze(1)
        low = (start * _LOW_STEPS[0] + place * _LOW_STEPS[1]) % _LOW_ROWS
        high = (start * _HIGH_STEPS[0] + place * _HIGH_STEPS[1]) % _HIGH_ROWS
        low_table, high_table = self.tables()
        split = low_table.shape[-1]
        beyond = np.concatenate([high_table, np.zeros_like(high_table[..., :1])], -1)
        parts = []
        for bins in combs:
            first, second = bins[bins < split], np.minimum(bins[bins >= split], self.bins) - split
            for table, index in ((low_table[..., first], low), (beyond[..., second], high)):
                parts.append(graph.gather(graph.constant(table).cast(np.float32), index))
        return graph.concat(parts, -1)

    def read(self, seed: int, sub_frames: int) -> npt.NDArray[np.complex64]:
        """Return the noise of a whole segment, [sub_frames, bins]."""
        low_table, high_table = self.tables()
        place = np.arange(sub_frames)
        low = low_table[(seed * _LOW_STEPS[0] + place * _LOW_STEPS[1]) % _LOW_ROWS]
        high = high_table[(seed * _HIGH_STEPS[0] + place * _HIGH_STEPS[1]) % _HIGH_ROWS]
        parts = np.concatenate([low, high], -1).astype(np.float32)
        return np.asarray(parts[:, 0] + 1j * parts[:, 1], np.complex64)
