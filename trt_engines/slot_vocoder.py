"""What every vocoder is, whatever runs it: slots that begin and are released, and the checks of a call."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import VocodeItem
from trt_engines.errors import SlotError
from trt_engines.manifest import Manifest
from trt_engines.vocode_items import check_items

Kept = TypeVar("Kept")


class SlotVocoder(ABC, Generic[Kept]):
    """A `Vocoder`, but for `_vocode`; `_slots` holds what is carried over by each slot that has begun."""

    def __init__(self, manifest: Manifest, slot_count: int) -> None:
        self._manifest = manifest
        self._slot_count = slot_count
        self._slots: dict[int, Kept] = {}

    @property
    def slot_count(self) -> int:
        """Number of slots."""
        return self._slot_count

    @property
    def samples_per_frame(self) -> int:
        """Samples that one frame becomes."""
        return self._manifest.audio.samples_per_frame

    @property
    def lookahead_frames(self) -> int:
        """Frames by which the samples lag behind the newest frame until the segment ends."""
        return self._manifest.vocode.lookahead_frames

    def vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        """Return the new samples of each item; at most one item per slot in a call.

        Raises:
            EngineError: An item does not fit its slot or the manifest; nothing was run.
        """
        check_items(items, self._slot_count, self._manifest, self._slots)
        return self._vocode(items)

    def release(self, slot: int) -> None:
        """Forget a slot, finished or not."""
        self._slots.pop(slot, None)

    @abstractmethod
    def _vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        """Do what `vocode` says with items that have been checked."""
