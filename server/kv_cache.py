"""Who holds which slot. A slot is a row of the engine's persistent tensors, lent to one segment at a time. Pure."""

from server.utterance import SegmentId


class SlotPool:
    """The one owner of the slots 0 to `slot_count - 1`.

    Args:
        slot_count: Slots the engine was made with, at least 1.
    """

    def __init__(self, slot_count: int) -> None:
        self.slot_count = slot_count
        # The lowest free slot goes out first: an engine whose cost grows with the highest active row stays small.
        self._free = list(range(slot_count - 1, -1, -1))
        self._holders: dict[int, SegmentId] = {}

    @property
    def free_count(self) -> int:
        """Slots that can be lent."""
        return len(self._free)

    @property
    def used_count(self) -> int:
        """Slots that are lent."""
        return len(self._holders)

    def allocate(self, holder: SegmentId) -> int | None:
        """Lend the lowest free slot to a segment, or return None when all are lent."""
        if not self._free:
            return None
        slot = self._free.pop()
        self._holders[slot] = holder
        return slot

    def free(self, slot: int, holder: SegmentId) -> None:
        """Take a slot back from the segment that holds it."""
        assert self._holders.get(slot) == holder, f"slot {slot} is not held by segment {holder}"
        del self._holders[slot]
        position = len(self._free)
        while position and self._free[position - 1] < slot:
            position -= 1
        self._free.insert(position, slot)

    def holders(self) -> dict[int, SegmentId]:
        """Return a copy of who holds what."""
        return dict(self._holders)

    def check_integrity(self) -> None:
        """Assert that every slot is either free or lent, once, and that the free ones are in order."""
        assert sorted([*self._free, *self._holders]) == list(range(self.slot_count)), "a slot is lost or doubled"
        assert self._free == sorted(self._free, reverse=True), "the free slots are out of order"
        assert len(set(self._holders.values())) == len(self._holders), "a segment holds two slots"
