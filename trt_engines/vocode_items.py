"""What every vocoder asks of the items that it is given, and how it says that a slot has failed."""

from collections.abc import Container, Sequence

from trt_engines.base import VocodeItem
from trt_engines.errors import EngineError, SlotError

SEED_MODULUS = 2**31


def check_items(items: Sequence[VocodeItem], slot_count: int, frame_width: int, begun: Container[int]) -> None:
    """Check the items of one call.

    Args:
        items: The items.
        slot_count: Slots of the vocoder.
        frame_width: Numbers in a frame.
        begun: Slots that have begun a segment.

    Raises:
        EngineError: An item does not fit its slot or the frames of the voice.
    """
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
        if not item.is_first and item.slot not in begun:
            raise EngineError(f"Slot {item.slot} was continued without a beginning; give its first item with is_first.")


def not_finite(slot: int) -> SlotError:
    """Say that a slot's samples are of no use."""
    return SlotError(
        slot,
        f"The vocoder computed a number that is not finite for slot {slot}; release it. If it happens again with the "
        "same text, the bundle's weights or precision are at fault: verify it with `python -m build_engines`.",
    )
