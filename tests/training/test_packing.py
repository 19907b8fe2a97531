"""Several utterances heard at once."""

import numpy as np

from training.alignment import align
from training.packing import hear_packed, packs, unpacked


def test_packs_hold_neighbors_up_to_the_longest() -> None:
    """Nobody is left out, the order is kept, and what is too long stands alone."""
    assert [list(pack) for pack in packs([10.0, 10.0, 10.0, 40.0, 1.0, 1.0])] == [[0, 1], [2], [3], [4, 5]]
    assert list(packs([])) == []


def test_the_alignment_of_a_pack_is_cut_between_its_utterances() -> None:
    """Each gets its own words back, with what is missing, and with what is too many behind it."""
    joined = align("go home now yes please come in", "Go home. Uh, yes, please come on.")
    parts = unpacked(joined, [3, 2, 2])

    assert [part.expected for part in parts] == [["go", "home", "now"], ["yes", "please"], ["come", "in"]]
    assert [part.heard for part in parts] == [["go", "home", "uh"], ["yes", "please"], ["come", "on"]]


def test_utterances_are_heard_together() -> None:
    """The recognizer is asked once for each pack, and gets its sounds with silence between."""
    asked: list[int] = []

    def transcribe(sound: np.ndarray[tuple[int], np.dtype[np.float32]]) -> str:
        asked.append(len(sound))
        return "one two three"

    sounds = [np.ones(1000, np.float32)] * 2
    hearing = hear_packed(["one two", "three four"], sounds, 1000, transcribe)

    assert asked == [2 * (1000 + 700)]
    assert [part.error_count for part in hearing.alignments] == [0, 1]
    assert (hearing.packs, hearing.written) == ((range(2),), ("one two three",))
