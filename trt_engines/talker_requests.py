"""What every talker asks of the chunks and requests that it is given, and how it says that a slot has failed."""

from collections.abc import Sequence

from trt_engines.base import PrefillChunk, StepRequest
from trt_engines.errors import EngineError, SlotError
from trt_engines.manifest import Manifest


def check_distinct(slots: Sequence[int]) -> None:
    """Refuse a call that names a slot twice."""
    if len(set(slots)) < len(slots):
        raise EngineError(f"Slots {sorted(slots)} were given in one call; give each slot once.")


def check_chunk(chunk: PrefillChunk, manifest: Manifest, slot_count: int, held_rows: int) -> None:
    """Check a chunk against the slots, the rows of the voice and the rows that its slot holds already.

    Raises:
        EngineError: It does not fit.
    """
    rows, columns = chunk.row_ids.shape
    if not 0 <= chunk.slot < slot_count:
        raise EngineError(f"Slot {chunk.slot} does not exist; slots are 0 to {slot_count - 1}.")
    if columns != len(manifest.row.columns) or not 1 <= rows <= manifest.prefill.chunk_rows:
        raise EngineError(
            f"A chunk of {rows} rows by {columns} columns was given to slot {chunk.slot}; give 1 to "
            f"{manifest.prefill.chunk_rows} rows of {len(manifest.row.columns)} columns."
        )
    if chunk.start + rows > manifest.max_positions:
        raise EngineError(
            f"A prompt of {chunk.start + rows} rows was given to slot {chunk.slot}, but the voice has "
            f"{manifest.max_positions} positions; give a shorter segment."
        )
    if chunk.start not in (0, held_rows):
        raise EngineError(f"A chunk at {chunk.start} was given to slot {chunk.slot}; continue at {held_rows}.")


def check_request(request: StepRequest, manifest: Manifest, *, is_ready: bool) -> None:
    """Check a request against the state of its slot and the parameters of the voice.

    Raises:
        EngineError: It does not fit.
    """
    if not is_ready:
        raise EngineError(f"Slot {request.slot} was stepped before its prompt was complete; prefill it first.")
    params = manifest.step.params
    if len(request.params) != len(params):
        names = ", ".join(param.name for param in params)
        raise EngineError(
            f"{len(request.params)} parameters were given to slot {request.slot}; give {len(params)}: {names}."
        )


def out_of_positions(slot: int, manifest: Manifest) -> SlotError:
    """Say that a slot's cache is full."""
    return SlotError(
        slot,
        f"Slot {slot} has filled all {manifest.max_positions} positions of the voice before its segment ended; "
        "release it and give a shorter segment.",
    )


def not_finite(slot: int) -> SlotError:
    """Say that a slot's numbers are of no use."""
    return SlotError(
        slot,
        f"The talker computed a number that is not finite for slot {slot}; release it. If it happens again with the "
        "same text, the bundle's weights or precision are at fault: verify it with `python -m build_engines`.",
    )
