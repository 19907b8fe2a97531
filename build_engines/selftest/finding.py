"""One thing that a self-test found out."""

import operator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """A measured value, and what it had to be.

    Attributes:
        name: what was measured.
        value: the result.
        unit: of the value; empty for a share.
        limit: the bound, or None where the value is for information.
        bound: whether the limit is the least or the most.
    """

    name: str
    value: float
    unit: str = ""
    limit: float | None = None
    bound: Literal["at least", "at most"] = "at most"

    @property
    def is_good(self) -> bool:
        """Whether the limit holds; NaN never does."""
        if self.limit is None:
            return True
        holds = operator.ge if self.bound == "at least" else operator.le
        return bool(holds(self.value, self.limit))
