"""Drives a vocoder through segments cut into chunks in many ways, for tests of what it puts out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import VocodeItem, Vocoder


@dataclass
class Spoken:
    """One segment: its frames [frames, frame width], how they are cut, its voice, and the samples so far."""

    slot: int
    frames: NDArray[Any]
    seed: int
    cuts: Sequence[int]
    pieces: list[NDArray[np.float32]] = field(default_factory=list)
    turn: int = 0
    voice: NDArray[np.float32] | None = None

    @property
    def is_done(self) -> bool:
        """Whether the last chunk has been given."""
        return self.turn > len(self.cuts)

    @property
    def samples(self) -> NDArray[np.float32]:
        """All samples."""
        return np.concatenate(self.pieces)

    def item(self) -> VocodeItem:
        """Return the next chunk."""
        edges = [0, *self.cuts, len(self.frames)]
        part = self.frames[edges[self.turn] : edges[self.turn + 1]]
        self.turn += 1
        is_first, is_last = self.turn == 1, self.turn > len(self.cuts)
        return VocodeItem(self.slot, part, self.seed, is_first, is_last, self.voice)


def vocode_whole(
    vocoder: Vocoder, frames: NDArray[Any], seed: int, voice: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the samples of a segment given in one piece, alone."""
    spoken = Spoken(0, frames, seed, (), voice=voice)
    vocode_together(vocoder, [spoken])
    return spoken.samples


def vocode_together(vocoder: Vocoder, segments: Sequence[Spoken]) -> None:
    """Vocode segments side by side, chunk by chunk."""
    while running := [segment for segment in segments if not segment.is_done]:
        for segment, samples in zip(running, vocoder.vocode([one.item() for one in running]), strict=True):
            assert isinstance(samples, np.ndarray)
            segment.pieces.append(samples)
    for segment in segments:
        vocoder.release(segment.slot)


def in_many_voices(count: int, voice_width: int, frame_width: int) -> list[Spoken]:
    """Segments of different lengths and cuts, every third in the first voice, the others each in one of its own."""
    random = np.random.default_rng(count)
    spoken = []
    for slot in range(count):
        frames = random.integers(0, 100, (1 + 3 * slot, frame_width)).astype(np.int32)
        voice = (0.1 * random.standard_normal(voice_width)).astype(np.float32) if slot % 3 else None
        spoken.append(Spoken(slot, frames, slot, random_cuts(len(frames), slot), voice=voice))
    return spoken


def random_cuts(frame_count: int, seed: int) -> list[int]:
    """Cut a segment at random places, empty chunks included."""
    random = np.random.default_rng(seed)
    return sorted(random.integers(0, frame_count + 1, random.integers(0, 9)).tolist())
