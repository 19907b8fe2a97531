"""A voice as the server knows it: a name that callers ask for, and what is to be said about it."""

from dataclasses import dataclass
from typing import Literal

Gender = Literal["female", "male", "neutral"]


@dataclass(frozen=True, slots=True)
class Voice:
    """A named way of speaking.

    A built-in voice of a bundle is one such record; so is a voice that a caller made, with a voice prompt beside it.
    """

    name: str
    """What callers ask for: 1 to 64 of a-z, 0-9, '-' and '_', beginning with a letter or a digit."""
    language_codes: tuple[str, ...]
    """BCP 47 tags, the main language first."""
    gender: Gender
    description: str
    """One or two sentences for people."""
    sample_rate_hz: int
    """The rate that costs no resampling."""
    display_name: str = ""
    """A name for people."""
    created_s: float | None = None
    """Seconds since 1970 when a caller made it; None for a voice that came with the bundle."""
    vector: tuple[float, ...] = ()
    """What the vocoder is told of a voice of a bundle with several; empty is all zeros, the voice trained first."""
