"""Which row of the batch belongs to which slot. Occupied rows are always 0, 1, ... without a hole."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RowMove:
    """The content of row `source` must go to row `target`."""

    source: int
    target: int


class SlotRows:
    """Gives rows to slots, and fills the hole that a released slot leaves with the last row."""

    def __init__(self) -> None:
        self._row_of: dict[int, int] = {}
        self._slots: list[int] = []

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, slot: int) -> bool:
        return slot in self._row_of

    def __getitem__(self, slot: int) -> int:
        return self._row_of[slot]

    def occupy(self, slot: int) -> int:
        """Give a slot that has none the next row."""
        if slot in self._row_of:
            raise ValueError(f"Slot {slot} has row {self._row_of[slot]} already; release it first.")
        self._row_of[slot] = len(self._slots)
        self._slots.append(slot)
        return self._row_of[slot]

    def release(self, slot: int) -> RowMove | None:
        """Take the row of a slot back; return what the caller must move, if anything."""
        target = self._row_of.pop(slot)
        source, last = len(self._slots) - 1, self._slots.pop()
        if source == target:
            return None
        self._slots[target] = last
        self._row_of[last] = target
        return RowMove(source, target)
