"""Prompts to test with, cut from the golden utterance of a bundle."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from build_engines.golden_utterance import GoldenUtterance
from trt_engines.base import PrefillChunk, StepFrame, StepRequest, Talker
from trt_engines.manifest import Manifest


@dataclass(frozen=True)
class SpokenPrompts:
    """The golden prompt and what belongs to it.

    Attributes:
        row_ids: int32 [rows, columns]; the last row is the first step's input.
        frames: [frames, frame width], golden frames for the vocoder.
        params: one value per sampling parameter.
        chunk_rows: rows that one prefill takes.
    """

    row_ids: NDArray[np.int32]
    frames: NDArray[Any]
    params: tuple[float, ...]
    chunk_rows: int

    @classmethod
    def load(cls, bundle_dir: Path, manifest: Manifest) -> "SpokenPrompts":
        """Read the golden vectors.

        Raises:
            FileNotFoundError: the bundle has none.
        """
        golden = GoldenUtterance.load(bundle_dir)
        rows = np.concatenate([golden.prompt, golden.inputs[:1]])
        return cls(rows, golden.frames, tuple(map(float, golden.params)), manifest.prefill.chunk_rows)

    def prefill(self, talker: Talker, slot: int, skipped_rows: int = 0) -> None:
        """Put the prompt, without its first rows, into a slot."""
        rows = self.row_ids[skipped_rows:]
        for start in range(0, len(rows), self.chunk_rows):
            part = rows[start : start + self.chunk_rows]
            talker.prefill([PrefillChunk(slot, part, start, is_last=start + len(part) == len(rows))])

    def step(self, talker: Talker, slots: Sequence[int], seeds: Sequence[int], index: int) -> list[StepFrame]:
        """Step slots together.

        Raises:
            SlotError: a slot failed.
        """
        requests = [StepRequest(slot, self.params, seed, index) for slot, seed in zip(slots, seeds, strict=True)]
        frames = []
        for result in talker.step(requests):
            if not isinstance(result, StepFrame):
                raise result
            frames.append(result)
        return frames
