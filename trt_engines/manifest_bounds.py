"""Limits of a number in the manifest, to be put on a field with `Annotated`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """The smallest value that a number may have."""

    at_least: float

    def violation(self, value: float) -> str | None:
        """Say in words what limit the value breaks, or None."""
        return None if value >= self.at_least else f"must be at least {self.at_least:g}"
