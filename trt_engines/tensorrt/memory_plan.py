"""How much of the GPU an engine will take, known before anything is allocated."""

from collections.abc import Mapping
from dataclasses import dataclass

_SPARE_SHARE = 0.05


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes by purpose.

    Attributes:
        weights_bytes: of each plan. What prefill and step have in common is there twice: plans share no weights.
        workspace_bytes: scratch memory of all plans.
        fixed_bytes: inputs and outputs of one run that do not grow with the slots.
        talker_slot_bytes: cache, prompt and state of one slot.
        vocoder_slot_bytes: what the vocoder keeps of one slot.
    """

    weights_bytes: Mapping[str, int]
    workspace_bytes: int
    fixed_bytes: int
    talker_slot_bytes: int
    vocoder_slot_bytes: int

    @property
    def slot_bytes(self) -> int:
        """Bytes of one more slot."""
        return self.talker_slot_bytes + self.vocoder_slot_bytes

    def total_bytes(self, slot_count: int) -> int:
        """Bytes with so many slots."""
        fixed = sum(self.weights_bytes.values()) + self.workspace_bytes + self.fixed_bytes
        return fixed + slot_count * self.slot_bytes

    def largest_slot_count(self, free_bytes: int) -> int:
        """Return how many slots fit, with a spare share left for CUDA itself; 0 if not even one does."""
        left = int(free_bytes * (1 - _SPARE_SHARE)) - self.total_bytes(0)
        return max(0, left // self.slot_bytes)

    def describe(self, slot_count: int) -> str:
        """Return one line for the log."""
        parts = {f"weights of {name}": size for name, size in self.weights_bytes.items()} | {
            "workspace": self.workspace_bytes,
            "run buffers": self.fixed_bytes,
            f"{slot_count} slots of the talker": slot_count * self.talker_slot_bytes,
            f"{slot_count} slots of the vocoder": slot_count * self.vocoder_slot_bytes,
        }
        listed = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in parts.items())
        return f"{self.total_bytes(slot_count) / 1e6:.1f} MB of GPU memory: {listed}"
