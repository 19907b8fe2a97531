"""The vocoder of kind `state` on TensorRT: what a slot carries over stays on the GPU."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import VocodeItem
from trt_engines.cuda.driver import CudaDriver
from trt_engines.errors import SlotError
from trt_engines.manifest import Manifest
from trt_engines.slot_vocoder import SlotVocoder
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.vocode_runner import VocodeRow, VocodeRunner
from trt_engines.vocode_items import SEED_MODULUS, not_finite


@dataclass
class _Turn:
    """What is left of one item, and the samples made of it."""

    item: VocodeItem
    rest: NDArray[Any]
    samples: list[NDArray[np.float32]] = field(default_factory=list)
    is_finished: bool = False


class TensorrtStateVocoder(SlotVocoder[int]):
    """A `Vocoder`; see there. Of each slot it keeps the number of frames seen."""

    def __init__(
        self, memory: DeviceMemory, manifest: Manifest, runner: VocodeRunner, slot_count: int, stream: int
    ) -> None:
        super().__init__(manifest, slot_count)
        self._driver: CudaDriver = memory.driver
        self._runner = runner
        self._stream = stream
        self._state_bytes = 4 * manifest.vocode.state_width
        self._states = memory.zeros(slot_count * self._state_bytes, stream)

    def _vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        turns = [_Turn(item, item.frames, is_finished=not len(item.frames) and not item.is_last) for item in items]
        with self._driver.attached():
            for item in items:
                if item.is_first:
                    self._slots[item.slot] = 0
                    self._driver.clear(self._state_address(item.slot), self._state_bytes, self._stream)
            while waiting := [turn for turn in turns if not turn.is_finished]:
                self._run(waiting[: self._runner.row_count])
        return [self._result(turn) for turn in turns]

    def _state_address(self, slot: int) -> int:
        return self._states + slot * self._state_bytes

    def _run(self, turns: Sequence[_Turn]) -> None:
        """Run as many frames of each turn as fit into one run."""
        rows = [self._row(turn) for turn in turns]
        made = self._runner.run(rows)
        for turn, row, samples in zip(turns, rows, made, strict=True):
            self._keep(turn, row, samples)

    def _row(self, turn: _Turn) -> VocodeRow:
        longest, slot = self._runner.frame_count, turn.item.slot
        fits = len(turn.rest) + (self.lookahead_frames if turn.item.is_last else 0) <= longest
        frames, turn.rest = (turn.rest, turn.rest[:0]) if fits else (turn.rest[:longest], turn.rest[longest:])
        turn.is_finished = fits
        is_last, seed = fits and turn.item.is_last, turn.item.seed % SEED_MODULUS
        return VocodeRow(frames, is_last, seed, self._state_address(slot), turn.item.voice)

    def _keep(self, turn: _Turn, row: VocodeRow, samples: NDArray[np.float32]) -> None:
        """Copy the good samples: not those before the segment, nor those behind its newest frame."""
        lookahead, seen = self.lookahead_frames, self._slots[turn.item.slot]
        end = len(row.frames) + (lookahead if row.is_last else 0)
        first = min(max(0, lookahead - seen), end)
        turn.samples.append(samples[first * self.samples_per_frame : end * self.samples_per_frame].copy())
        self._slots[turn.item.slot] = seen + len(row.frames)

    def _result(self, turn: _Turn) -> NDArray[np.float32] | SlotError:
        samples = np.concatenate(turn.samples) if turn.samples else np.zeros(0, np.float32)
        return samples if np.isfinite(samples).all() else not_finite(turn.item.slot)
