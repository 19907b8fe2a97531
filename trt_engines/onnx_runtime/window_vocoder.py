"""The vocoder of kind `window` on ONNX Runtime: each run sees the frames before the new ones again."""

from collections import defaultdict
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
from trt_engines.vocode_items import not_finite, vocode_in_pieces

QUANTUM_FRAMES = 4
LONGEST_RUN_FRAMES = 32


@dataclass
class _Slot:
    """The last frames [kept, frame width] of a slot; those up to `sent` among them are context only."""

    frames: NDArray[Any]
    sent: int = 0


@dataclass(frozen=True)
class _Turn:
    """One item's window; the samples of frames `first`..`end`-1 of the window are new."""

    slot: int
    window: NDArray[Any]
    first: int
    end: int


class WindowVocoder(SlotVocoder[_Slot]):
    """A `Vocoder`; see there."""

    def __init__(self, bundle_dir: Path, manifest: Manifest, slot_count: int) -> None:
        super().__init__(manifest, slot_count)
        self._session = open_session(bundle_dir, manifest.vocode.graph, manifest, vocode_tensors)
        # Without look-ahead a frame does not hear those behind it, so that windows may be filled up at the end.
        self._quantum = 1 if manifest.vocode.lookahead_frames else QUANTUM_FRAMES

    def _vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        return vocode_in_pieces(items, LONGEST_RUN_FRAMES, self._run_all)

    def _run_all(self, items: Sequence[VocodeItem]) -> dict[int, NDArray[np.float32] | SlotError]:
        """Run items, those whose windows are about equally long together."""
        by_length = defaultdict(list)
        for item in items:
            turn = self._turn(item)
            by_length[-(-len(turn.window) // self._quantum) * self._quantum].append(turn)
        made: dict[int, NDArray[np.float32] | SlotError] = {}
        for frame_count, turns in by_length.items():
            made |= self._run(turns, frame_count)
        return made

    def _turn(self, item: VocodeItem) -> _Turn:
        """Append an item's frames to its slot, and forget those that no later window needs."""
        if item.is_first:
            self._slots[item.slot] = _Slot(item.frames[:0])
        slot = self._slots[item.slot]
        window, first = np.concatenate([slot.frames, item.frames]), slot.sent
        end = len(window) if item.is_last else max(first, len(window) - self.lookahead_frames)
        forgotten = max(0, end - self._manifest.vocode.left_frames)
        slot.frames, slot.sent = window[forgotten:], end - forgotten
        return _Turn(item.slot, window if end > first else window[:0], first, end)

    def _run(self, turns: Sequence[_Turn], frame_count: int) -> dict[int, NDArray[np.float32] | SlotError]:
        """Run windows of about the same length."""
        if frame_count == 0:
            return {turn.slot: np.zeros(0, np.float32) for turn in turns}
        frame, block = self._manifest.frame, self.samples_per_frame
        frames = aligned_zeros((len(turns), frame_count, frame.width), frame.dtype)
        for row, turn in zip(frames, turns, strict=True):
            row[: len(turn.window)] = turn.window
        samples = np.empty((len(turns), frame_count * block), np.float32)
        BoundRun(self._session, {"frames": frames}, {"samples": samples})()
        made = {turn.slot: row[turn.first * block : turn.end * block] for turn, row in zip(turns, samples, strict=True)}
        return {slot: new if np.isfinite(new).all() else not_finite(slot) for slot, new in made.items()}
