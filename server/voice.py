"""A voice as the server knows it: a name that callers ask for, and what is to be said about it."""

from dataclasses import dataclass
from typing import Literal

Gender = Literal["female", "male", "neutral"]


@dataclass(frozen=True, slots=True)
class Voice:
    """A named way of speaking.

    A built-in voice of a bundle is one such record. A cloned voice will be the same record with a voice prompt beside
    it, kept by its own store; whatever takes a `Voice` today then works for both.
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
