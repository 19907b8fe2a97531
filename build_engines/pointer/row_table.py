"""One table that embeds frame rows: a row is a handful of indices into it, and its embedding is their sum."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.value import Value
from build_engines.networks.pointer_talker_config import (
    ADVANCE_COUNT,
    BEGIN_ADVANCE,
    MAX_DWELL,
    WINDOW,
    PointerTalkerConfig,
)

Arrays = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class RowTable:
    """Where each kind of index starts in the table: advances, dwells, phoneme windows, codes, one zero row.

    Attributes:
        config: sizes of the talker.
        codebook_size: codes of one codebook.
    """

    config: PointerTalkerConfig
    codebook_size: int

    @property
    def window_start(self) -> int:
        """First row of the five window tables."""
        return ADVANCE_COUNT + 1 + MAX_DWELL + 1

    @property
    def code_start(self) -> int:
        """First row of the code tables."""
        return self.window_start + len(WINDOW) * (self.config.phoneme_count + 1)

    @property
    def zero_row(self) -> int:
        """The row of zeros."""
        return self.code_start + self.config.codebook_count * self.codebook_size

    def rows(self, weights: Arrays, codes: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        """Stack the talker's embeddings; `codes` holds one folded table [codebook_size, width] per codebook."""
        windows = [weights[f"window.tables.{index}.weight"] for index in range(len(WINDOW))]
        parts = [weights["advance.weight"], weights["dwell.weight"], *windows, *codes]
        return np.concatenate([*parts, np.zeros_like(parts[0][:1])])

    def parts(
        self, rows: npt.NDArray[np.float32]
    ) -> tuple[dict[str, npt.NDArray[np.float32]], list[npt.NDArray[np.float32]]]:
        """Cut the table [rows, width] into what `rows` was made of: the embeddings, and one table per codebook."""
        sizes = [ADVANCE_COUNT + 1, MAX_DWELL + 1, *[self.config.phoneme_count + 1] * len(WINDOW)]
        sizes += [self.codebook_size] * self.config.codebook_count
        advance, dwell, *others = np.split(rows[: self.zero_row], np.cumsum(sizes)[:-1])
        windows = {f"window.tables.{index}.weight": others[index] for index in range(len(WINDOW))}
        return {"advance.weight": advance, "dwell.weight": dwell, **windows}, others[len(WINDOW) :]

    def embed_frames(self, rows: Value, window: Value, table: Value) -> Value:
        """Embed frame rows int64 [batch, columns], with the phonemes [batch, 5] around each, as [batch, 1, width]."""
        graph, books = rows.graph, self.config.codebook_count
        _, advance, _, dwell, codes = graph.split(rows, [1, 1, 1, 1, books], -1)
        dwell = graph.op("Clip", [dwell, np.asarray(0), np.asarray(MAX_DWELL)]) + (ADVANCE_COUNT + 1)
        around = window + self.window_offsets()
        starts = self.code_start + np.arange(books)[None] * self.codebook_size
        codes = graph.where(advance.equals(BEGIN_ADVANCE), np.full((1, 1), self.zero_row), codes + starts)
        indices = graph.concat([advance, dwell, around, codes], -1)
        return graph.gather(table, indices).sum(1, keep=True)

    def window_offsets(self) -> npt.NDArray[np.int64]:
        """First row of each window table, [1, 5]."""
        return self.window_start + np.arange(len(WINDOW))[None] * (self.config.phoneme_count + 1)
