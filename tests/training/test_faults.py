"""What can be wrong with an utterance."""

import numpy as np
import numpy.typing as npt
import pytest

from training.alignment import align
from training.faults import length_faults, longest_loop, sound_faults, word_faults

RATE_HZ = 8000


def noise(seconds: float) -> npt.NDArray[np.float32]:
    """Return noise as loud as speech."""
    return np.random.default_rng(0).normal(0.0, 0.1, round(seconds * RATE_HZ)).astype(np.float32)


def silence(seconds: float) -> npt.NDArray[np.float32]:
    """Return silence."""
    return np.zeros(round(seconds * RATE_HZ), np.float32)


@pytest.mark.parametrize(
    ("spoken", "heard", "faults"),
    [
        ("please call me back tomorrow", "Please call me back tomorrow.", []),
        ("please call me back tomorrow", "Please call him back tomorrow", []),
        ("please call me back tomorrow", "Please call me back.", []),
        ("please call me back tomorrow", "Please call me.", ["dropped tail"]),
        ("yes", "", ["dropped tail"]),
        ("please call me", "Please call the man in the moon, me.", ["babble"]),
        ("please call me back", "Please call call call me back", ["loop"]),
        ("no no no no", "No, no, no, no.", []),
        ("go there and there", "Go there, and there, and there, and there.", ["babble", "loop"]),
    ],
)
def test_word_faults(spoken: str, heard: str, faults: list[str]) -> None:
    """Words that are not there, an end that is missing, words over and over; a misheard word is none of them."""
    assert word_faults(align(spoken, heard)) == faults


def test_the_longest_loop_counts_groups_of_words() -> None:
    """Single words and groups; nothing is no loop."""
    assert [longest_loop(text.split()) for text in ("", "a b c", "a a a", "a b a b c", "x a b c d a b c d")] == [
        0,
        1,
        3,
        2,
        2,
    ]


@pytest.mark.parametrize(
    ("parts", "faults"),
    [
        ((noise(1.0), silence(0.5), noise(1.0), silence(0.3)), []),
        ((noise(1.0), silence(1.5), noise(1.0)), ["silence inside"]),
        ((noise(1.0), silence(0.9)), ["silence at the end"]),
        ((silence(1.0),), ["no sound"]),
        ((), ["no sound"]),
    ],
)
def test_sound_faults(parts: tuple[npt.NDArray[np.float32], ...], faults: list[str]) -> None:
    """Silence is measured inside and at the end."""
    assert sound_faults(np.concatenate([silence(0.0), *parts]), RATE_HZ) == faults


def test_length_faults() -> None:
    """Ten phonemes last about a second, not a tenth and not five."""
    assert [length_faults(seconds, 10) for seconds in (0.1, 1.0, 5.0)] == [["too short"], [], ["too long"]]
