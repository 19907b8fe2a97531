"""The vocoder of kind `window` on TensorRT: each run sees the frames before the new ones again, and nothing is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import VocodeItem
from trt_engines.cuda.driver import CudaDriver
from trt_engines.errors import BackendError, SlotError
from trt_engines.manifest import Manifest
from trt_engines.slot_vocoder import SlotVocoder
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.vocode_runner import VocodeRow, VocodeRunner
from trt_engines.vocode_items import not_finite


@dataclass(frozen=True)
class _Window:
    """A piece of one item: the samples of the frames from `first` on are new."""

    slot: int
    frames: NDArray[Any]
    first: int


class TensorrtWindowVocoder(SlotVocoder[NDArray[Any]]):
    """A `Vocoder`; see there. Windows are filled up to the length of a plan's profile, behind what counts.

    Of each slot it keeps the last frames, [at most `left_frames`, frame width].

    Raises:
        BackendError: The voice looks ahead, so that what fills a window up would be heard.
    """

    def __init__(self, memory: DeviceMemory, manifest: Manifest, runner: VocodeRunner, slot_count: int) -> None:
        if manifest.vocode.lookahead_frames:
            raise BackendError(
                f"The vocoder of {manifest.id} is of kind `window` with a look-ahead of "
                f"{manifest.vocode.lookahead_frames} frames, which plans of fixed lengths cannot end exactly. "
                "Serve this bundle with ONNX Runtime."
            )
        super().__init__(manifest, slot_count)
        self._driver: CudaDriver = memory.driver
        self._runner = runner

    def _vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        windows = [window for item in items for window in self._windows(item)]
        made: dict[int, list[NDArray[np.float32]]] = {item.slot: [np.zeros(0, np.float32)] for item in items}
        for start in range(0, len(windows), self._runner.row_count):
            batch = windows[start : start + self._runner.row_count]
            with self._driver.attached():
                samples = self._runner.run([VocodeRow(window.frames, False, 0, 0) for window in batch])
            for window, row in zip(batch, samples, strict=True):
                first, end = (count * self.samples_per_frame for count in (window.first, len(window.frames)))
                made[window.slot].append(row[first:end].copy())
        return [self._result(item.slot, np.concatenate(made[item.slot])) for item in items]

    def _windows(self, item: VocodeItem) -> list[_Window]:
        """Cut an item into windows that fit the plan, each with the frames before it."""
        left = self._manifest.vocode.left_frames
        before = item.frames[:0] if item.is_first else self._slots[item.slot]
        frames = np.concatenate([before, item.frames])
        windows, first = [], len(before)
        while first < len(frames):
            start = max(0, first - left)
            end = min(len(frames), start + self._runner.frame_count)
            windows.append(_Window(item.slot, frames[start:end], first - start))
            first = end
        self._slots[item.slot] = frames[max(0, len(frames) - left) :]
        return windows

    @staticmethod
    def _result(slot: int, samples: NDArray[np.float32]) -> NDArray[np.float32] | SlotError:
        return samples if np.isfinite(samples).all() else not_finite(slot)
