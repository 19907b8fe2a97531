"""What a front end makes of a segment: rows for the talker, the words in them, and what cannot be spoken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A word of the segment and the rows that speak it."""

    text: str
    """The word as it stands in the text: `segment.text[char_start:char_end]`, without the punctuation around it."""
    first_row: int
    """Prompt position of the word's first phoneme; the talker's pointer reaches it when the word begins to sound."""
    end_row: int
    """Prompt position behind the word's last phoneme."""
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class ClosingPause:
    """The silence that may end a segment: what lies behind its last word."""

    first_row: int
    """Prompt position behind the last word; the pause begins when the talker's pointer reaches it."""
    max_frames: int
    """The segment ends when the pause has lasted this long, if the talker does not end it before."""
    sound_frames: int
    """The last phoneme sounds for so long at most; if the pointer stays on it, the pause has begun all the same."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSegment:
    """A piece of text ready to be spoken.

    Attributes:
        text: The piece exactly as it stood in the text, white space included.
        row_ids: int32 [rows, columns]. The last row is the input of the first step, the rows before it are prefilled.
            No rows: there is nothing in the piece that can be spoken.
        words: In the order of speech; rows and characters of one word never overlap those of another.
        unspoken: The parts of the text that were left out because the voice cannot speak them, in their order.
        max_frames: Run-away guard: the most frames this text could need; 0 without rows.
        closing_pause: How long the segment may be silent at its end; None leaves that to the talker.
        continuation: How it goes on from the segments before it; None where every segment stands alone.
    """

    text: str
    row_ids: NDArray[np.int32]
    words: tuple[WordSpan, ...]
    unspoken: tuple[str, ...]
    max_frames: int
    closing_pause: ClosingPause | None = None
    continuation: "Continuation | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class SpokenSegment:
    """A segment whose frames have been made.

    Attributes:
        prepared: What was spoken.
        frames: [frames, frame width]. What was made of it.
    """

    prepared: PreparedSegment
    frames: NDArray[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class Continuation:
    """How a segment goes on from those said before it in its utterance.

    Attributes:
        own_rows: int32 [rows, columns]. The rows of this segment alone, without voice or past.
        join: Returns the rows that speak this segment behind those, in their order, and its run-away guard.
    """

    own_rows: NDArray[np.int32]
    join: Callable[[Sequence[SpokenSegment]], tuple[NDArray[np.int32], int]]
