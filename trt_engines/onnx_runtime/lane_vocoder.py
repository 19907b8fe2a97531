"""A vocoder that takes the place of one of the talker's lanes while it runs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import VocodeItem, Vocoder
from trt_engines.errors import SlotError
from trt_engines.onnx_runtime.lanes import Lanes


class LaneVocoder:
    """A `Vocoder`; see there.

    Args:
        vocoder: What does the work, on the thread of the caller.
        lanes: Those of the talker, that share the cores with that thread.
    """

    def __init__(self, vocoder: Vocoder, lanes: Lanes) -> None:
        self._vocoder = vocoder
        self._lanes = lanes

    @property
    def slot_count(self) -> int:
        """Number of slots."""
        return self._vocoder.slot_count

    @property
    def samples_per_frame(self) -> int:
        """Samples that one frame becomes."""
        return self._vocoder.samples_per_frame

    @property
    def lookahead_frames(self) -> int:
        """Frames by which the samples lag behind the newest frame until the segment ends."""
        return self._vocoder.lookahead_frames

    def vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        """Return the new samples of each item; at most one item per slot in a call.

        Raises:
            EngineError: An item does not fit its slot or the manifest; nothing was run.
        """
        with self._lanes.one_taken():
            return self._vocoder.vocode(items)

    def release(self, slot: int) -> None:
        """Forget a slot, finished or not."""
        self._vocoder.release(slot)
