"""What every engine can do, whatever runs it: the protocols that the server codes against, and their plain data.

A slot is lent to a segment from outside; the engine keeps everything that belongs to it (cache, position, next row,
prompt, sampler state, vocoder state) until `release`. Results come back in the order of the requests. A slot whose
outputs are not finite gets a `SlotError` in place of its result, and the others of the call go on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trt_engines.errors import SlotError
from trt_engines.manifest import Manifest


@dataclass(frozen=True)
class PrefillChunk:
    """Some consecutive rows of one slot's prompt.

    Attributes:
        slot: Slot in [0, slot_count).
        row_ids: int32 [rows, columns], at least one row.
        start: Position of the first of these rows. A chunk at 0 starts the slot anew; a later one must continue
            where the last one ended.
        is_last: Whether the prompt ends here. Its last row is not prefilled: it is the first step's input.
    """

    slot: int
    row_ids: NDArray[np.int32]
    start: int
    is_last: bool


@dataclass(frozen=True)
class StepRequest:
    """One slot's part in a step.

    Attributes:
        slot: A slot whose prompt is complete.
        params: One value per parameter of the manifest, in its order.
        seed: Any integer; taken modulo 2**64.
        step_index: Steps this segment has made before, from 0. With `seed` it decides every random number.
    """

    slot: int
    params: tuple[float, ...]
    seed: int
    step_index: int


@dataclass(frozen=True)
class StepFrame:
    """What one step made for one slot.

    Attributes:
        slot: The slot of the request.
        frame: [frame width] in the dtype of the manifest; meaningful only if `emit`.
        emit: Whether the frame is to be vocoded.
        done: Whether the segment ends with this step.
        pointer: Prompt position being spoken in this frame, or -1 for a voice without a pointer.
    """

    slot: int
    frame: NDArray[Any]
    emit: bool
    done: bool
    pointer: int


@dataclass(frozen=True)
class VocodeItem:
    """Some consecutive frames of one slot.

    Attributes:
        slot: Slot in [0, slot_count).
        frames: [frames, frame width] in the dtype of the manifest. May be empty if `is_last`.
        seed: Seed of the segment, the same in each of its calls; taken modulo 2**31.
        is_first: Whether a segment starts here; forgets what the slot held before.
        is_last: Whether the segment ends here, so that every sample still owed comes out.
        voice: Voice vector float32 [voice width of the manifest], the same in each call of a segment; None is the
            voice that the vocoder was trained on first, whose vector is all zeros.
    """

    slot: int
    frames: NDArray[Any]
    seed: int
    is_first: bool
    is_last: bool
    voice: NDArray[np.float32] | None = None


class Talker(Protocol):
    """Prompt rows in, one frame per slot and step out. Used from one thread."""

    @property
    def slot_count(self) -> int:
        """Number of slots."""
        ...

    def prefill(self, chunks: Sequence[PrefillChunk]) -> None:
        """Write prompt rows into the cache; at most one chunk per slot in a call."""
        ...

    def step(self, requests: Sequence[StepRequest]) -> list[StepFrame | SlotError]:
        """Make one frame for each of these slots; positions and next rows are kept by the engine."""
        ...

    def release(self, slot: int) -> None:
        """Forget a slot, finished or not. Releasing a free slot does nothing."""
        ...


class Vocoder(Protocol):
    """Frames in, samples out. Used from one thread, which may be another one than the talker's."""

    @property
    def slot_count(self) -> int:
        """Number of slots."""
        ...

    @property
    def samples_per_frame(self) -> int:
        """Samples that one frame becomes."""
        ...

    @property
    def lookahead_frames(self) -> int:
        """Frames by which the samples lag behind the newest frame until the segment ends."""
        ...

    def vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        """Return the new samples of each item; at most one item per slot in a call.

        After `is_last` a slot has given exactly frames * samples_per_frame samples. The samples do not depend on the
        other items of a call, nor on how a segment is cut into calls.
        """
        ...

    def release(self, slot: int) -> None:
        """Forget a slot, finished or not. Releasing a free slot does nothing."""
        ...


class ReferenceEncoder(Protocol):
    """Reference samples in, the frames of a voice prompt out. May be used from any thread."""

    def encode(self, samples: NDArray[np.float32]) -> NDArray[Any]:
        """Return the frames [frames, frame width] of samples float32 [samples] at the reference's sample rate."""
        ...


@dataclass(frozen=True)
class Engine:
    """A loaded bundle: its networks, ready to run.

    Attributes:
        manifest: What the bundle says about itself.
        talker: The autoregressive half.
        vocoder: The half that makes samples.
        closers: What `close` calls, in order.
        reference_encoder: What makes voice prompts of reference audio, in a bundle that clones voices.
    """

    manifest: Manifest
    talker: Talker
    vocoder: Vocoder
    closers: tuple[Callable[[], None], ...] = ()
    reference_encoder: ReferenceEncoder | None = None

    def close(self) -> None:
        """Stop threads and give memory back; nothing may run afterwards."""
        for close in self.closers:
            close()
