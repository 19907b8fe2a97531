"""The vocoder of kind `state` on ONNX Runtime: frames and what a slot carries over go in, samples come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import VocodeItem
from trt_engines.errors import SlotError
from trt_engines.graph_tensors import vocode_tensors
from trt_engines.manifest import Manifest
from trt_engines.onnx_runtime.bound_run import BoundRun, aligned_zeros
from trt_engines.onnx_runtime.session import open_session
from trt_engines.slot_vocoder import SlotVocoder
from trt_engines.vocode_items import SEED_MODULUS, not_finite, vocode_in_pieces, voice_vectors

QUANTUM_FRAMES = 2
# Longer runs, over one stream or many, gain nothing: what they work on falls out of the processor's cache.
LONGEST_RUN_FRAMES = 32
# A run of its own costs about as much as this many frames more in another run, of which it then makes no use.
SPARE_FRAMES = 6


@dataclass
class _Slot:
    """What is carried over from call to call: the network's state float32 [state width] and the frames it has seen."""

    state: NDArray[np.float32]
    seen_frames: int = 0


@dataclass(frozen=True)
class _Turn:
    """One item with what its slot carries over.

    A turn puts out `block_count` blocks of samples, one per frame: of its own frames and, at the end of a segment, of
    those that were held back. The first `skipped_blocks` of them lie before the segment.
    """

    item: VocodeItem
    slot: _Slot
    lookahead_frames: int

    @property
    def block_count(self) -> int:
        """Blocks that the network must put out."""
        return len(self.item.frames) + (self.lookahead_frames if self.item.is_last else 0)

    @property
    def skipped_blocks(self) -> int:
        """Blocks to drop from the front."""
        return min(max(0, self.lookahead_frames - self.slot.seen_frames), self.block_count)

    @property
    def run_frames(self) -> int:
        """Frames of the run that this turn belongs to."""
        return -(-self.block_count // QUANTUM_FRAMES) * QUANTUM_FRAMES


class StateVocoder(SlotVocoder[_Slot]):
    """A `Vocoder`; see there."""

    def __init__(self, bundle_dir: Path, manifest: Manifest, slot_count: int) -> None:
        super().__init__(manifest, slot_count)
        self._session = open_session(bundle_dir, manifest.vocode.graph, manifest, vocode_tensors)

    def _vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        return vocode_in_pieces(items, LONGEST_RUN_FRAMES, self._run_all)

    def _run_all(self, items: Sequence[VocodeItem]) -> dict[int, NDArray[np.float32] | SlotError]:
        """Run items, those that take about the same number of frames together."""
        turns = []
        for item in items:
            if item.is_first:
                self._slots[item.slot] = _Slot(np.zeros(self._manifest.vocode.state_width, np.float32))
            turns.append(_Turn(item, self._slots[item.slot], self.lookahead_frames))
        made: dict[int, NDArray[np.float32] | SlotError] = {}
        for batch in _batches(turns):
            made |= self._run(batch, batch[0].run_frames)
        return made

    def _run(self, turns: Sequence[_Turn], frame_count: int) -> dict[int, NDArray[np.float32] | SlotError]:
        """Run turns that take at most `frame_count` frames, and carry their states over."""
        if frame_count == 0:
            return {turn.item.slot: np.zeros(0, np.float32) for turn in turns}
        samples = np.empty((len(turns), frame_count * self.samples_per_frame), np.float32)
        states = np.empty((len(turns), self._manifest.vocode.state_width), np.float32)
        outputs = {"samples": samples, "state_out": states}
        BoundRun(self._session, self._inputs(turns, frame_count), outputs)()
        return {
            turn.item.slot: self._carry_over(turn, *rows) for turn, *rows in zip(turns, samples, states, strict=True)
        }

    def _inputs(self, turns: Sequence[_Turn], frame_count: int) -> dict[str, NDArray[Any]]:
        frame = self._manifest.frame
        frames: NDArray[Any] = aligned_zeros((len(turns), frame_count, frame.width), frame.dtype)
        for row, turn in zip(frames, turns, strict=True):
            row[: len(turn.item.frames)] = turn.item.frames
        inputs = {
            "frames": frames,
            "count": np.array([len(turn.item.frames) for turn in turns], np.int32),
            "is_last": np.array([turn.item.is_last for turn in turns], np.bool_),
            "seed": np.array([turn.item.seed % SEED_MODULUS for turn in turns], np.int32),
            "state": np.stack([turn.slot.state for turn in turns]),
        }
        if width := self._manifest.vocode.voice_width:
            inputs["voice"] = voice_vectors([turn.item.voice for turn in turns], width)
        return inputs

    def _carry_over(
        self, turn: _Turn, samples: NDArray[np.float32], state: NDArray[np.float32]
    ) -> NDArray[np.float32] | SlotError:
        first, end = (blocks * self.samples_per_frame for blocks in (turn.skipped_blocks, turn.block_count))
        turn.slot.state = state
        turn.slot.seen_frames += len(turn.item.frames)
        made = samples[first:end]
        return made if np.isfinite(made).all() and np.isfinite(state).all() else not_finite(turn.item.slot)


def _batches(turns: Sequence[_Turn]) -> list[list[_Turn]]:
    """Share turns out over runs, the longest turn of each run first."""
    batches: list[list[_Turn]] = []
    for turn in sorted(turns, key=lambda turn: turn.run_frames, reverse=True):
        if batches and _fits(turn, batches[-1]):
            batches[-1].append(turn)
        else:
            batches.append([turn])
    return batches


def _fits(turn: _Turn, batch: Sequence[_Turn]) -> bool:
    """Whether a turn is better off in the run of others that are at least as long."""
    longest = batch[0].run_frames
    is_room = (len(batch) + 1) * longest <= LONGEST_RUN_FRAMES
    return is_room and 0 < turn.run_frames >= longest - SPARE_FRAMES
