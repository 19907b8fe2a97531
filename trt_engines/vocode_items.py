"""What vocoders have in common: checking items, cutting long ones, and how they say that a slot has failed."""

import dataclasses
from collections.abc import Callable, Container, Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from trt_engines.base import VocodeItem
from trt_engines.errors import EngineError, SlotError
from trt_engines.manifest import Manifest

SEED_MODULUS = 2**31

Samples = NDArray[np.float32]
Run = Callable[[Sequence[VocodeItem]], dict[int, Samples | SlotError]]


def check_items(items: Sequence[VocodeItem], slot_count: int, manifest: Manifest, begun: Container[int]) -> None:
    """Check the items of one call.

    Args:
        items: The items.
        slot_count: Slots of the vocoder.
        manifest: Of the bundle; tells how many numbers a frame and a voice vector have.
        begun: Slots that have begun a segment.

    Raises:
        EngineError: An item does not fit its slot, or what the vocoder takes.
    """
    frame_width, voice_shape = manifest.frame.width, (manifest.vocode.voice_width,)
    slots = [item.slot for item in items]
    if len(set(slots)) < len(slots):
        raise EngineError(f"Slots {sorted(slots)} were given in one call; give each slot once.")
    for item in items:
        if not 0 <= item.slot < slot_count:
            raise EngineError(f"Slot {item.slot} does not exist; slots are 0 to {slot_count - 1}.")
        if item.frames.ndim != 2 or item.frames.shape[1] != frame_width:
            raise EngineError(
                f"Frames of shape {item.frames.shape} were given to slot {item.slot}; give [frames, {frame_width}]."
            )
        if item.voice is not None and item.voice.shape != voice_shape:
            raise EngineError(
                f"A voice vector of shape {item.voice.shape} was given to slot {item.slot}; the vocoder takes "
                f"{voice_shape[0]} numbers."
            )
        if not item.is_first and item.slot not in begun:
            raise EngineError(f"Slot {item.slot} was continued without a beginning; give its first item with is_first.")


def voice_vectors(voices: Sequence[NDArray[np.float32] | None], width: int) -> NDArray[np.float32]:
    """Return voice vectors as rows float32 [voices, width]; zeros, the first voice, where there is none."""
    return np.stack([np.zeros(width, np.float32) if voice is None else voice for voice in voices])


def vocode_in_pieces(items: Sequence[VocodeItem], longest_frames: int, run: Run) -> list[Samples | SlotError]:
    """Vocode items piece by piece, each of at most `longest_frames` frames, the first pieces of all items first.

    Args:
        items: The items of one call.
        longest_frames: Frames of the longest piece.
        run: Vocodes one piece of each of some slots; returns new samples, or an error, by slot.

    Returns:
        Samples, or an error, in the order of the items.
    """
    results: dict[int, Samples | SlotError] = {}
    for pieces in zip_longest(*(_cut(item, longest_frames) for item in items)):
        made = run([piece for piece in pieces if piece is not None])
        results |= {slot: _joined(results.get(slot), piece) for slot, piece in made.items()}
    return [results[item.slot] for item in items]


def not_finite(slot: int) -> SlotError:
    """Say that a slot's samples are of no use."""
    return SlotError(
        slot,
        f"The vocoder computed a number that is not finite for slot {slot}; release it. If it happens again with the "
        "same text, the bundle's weights or precision are at fault: verify it with `python -m build_engines`.",
    )


def _cut(item: VocodeItem, longest_frames: int) -> list[VocodeItem]:
    starts = range(0, max(1, len(item.frames)), longest_frames)
    return [
        dataclasses.replace(
            item,
            frames=item.frames[start : start + longest_frames],
            is_first=item.is_first and start == 0,
            is_last=item.is_last and start == starts[-1],
        )
        for start in starts
    ]


def _joined(before: Samples | SlotError | None, new: Samples | SlotError) -> Samples | SlotError:
    """Append the samples of a later piece; an error of any piece is the error of the item."""
    if before is None or isinstance(new, SlotError):
        return new
    return before if isinstance(before, SlotError) else np.concatenate([before, new])
