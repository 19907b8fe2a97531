"""What can be wrong with an utterance beyond a misheard word: babble, a lost end, loops, dead air, odd lengths."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from training.alignment import Alignment

INNER_SILENCE_S, LAST_SILENCE_S = 1.2, 0.6
_FRAME_S = 0.01
_SILENT_SHARE = 0.01
"""Forty decibels below the loud parts of the utterance."""
PHONEME_S = (0.03, 0.2)
"""Shortest and longest mean duration of a phoneme, the pauses of a sentence included."""
_BABBLE_WORDS, _TAIL_WORDS, _LOOP_ROUNDS, _LOOP_WORDS = 3, 2, 3, 4
Samples = npt.NDArray[np.float32]


def word_faults(alignment: Alignment) -> list[str]:
    """Return what the words say: `babble`, `dropped tail`, `loop`."""
    faults = []
    extra = [sum(expected is None for expected, _ in stretch) for stretch in alignment.differences]
    missing = [sum(heard is None for _, heard in stretch) for stretch in alignment.differences]
    if any(more - less >= _BABBLE_WORDS for more, less in zip(extra, missing, strict=True)):
        faults.append("babble")
    if _lost_at_end(alignment) >= min(_TAIL_WORDS, len(alignment.expected)):
        faults.append("dropped tail")
    if longest_loop(alignment.heard) >= max(_LOOP_ROUNDS, longest_loop(alignment.expected) + 2):
        faults.append("loop")
    return faults


def longest_loop(words: Sequence[str]) -> int:
    """Return how often in a row the most repeated group of up to four words comes."""
    most = 1 if words else 0
    for size in range(1, _LOOP_WORDS + 1):
        for start in range(len(words) - size + 1):
            group, rounds = words[start : start + size], 1
            while words[start + rounds * size : start + (rounds + 1) * size] == group:
                rounds += 1
            most = max(most, rounds)
    return most


def sound_faults(samples: Samples, sample_rate_hz: int) -> list[str]:
    """Return what the samples say: `silence inside`, `silence at the end`, `no sound`."""
    length = round(_FRAME_S * sample_rate_hz)
    frames = samples[: len(samples) // length * length].reshape(-1, length)
    loudness = np.sqrt((frames**2).mean(1))
    loud = np.percentile(loudness, 95) if len(frames) else 0.0
    sounding = np.flatnonzero(loudness > _SILENT_SHARE * loud)
    if not len(sounding):
        return ["no sound"]
    faults = []
    if _FRAME_S * (np.diff(sounding).max(initial=1) - 1) > INNER_SILENCE_S:
        faults.append("silence inside")
    if _FRAME_S * (len(frames) - 1 - sounding[-1]) > LAST_SILENCE_S:
        faults.append("silence at the end")
    return faults


def length_faults(duration_s: float, phoneme_count: int) -> list[str]:
    """Return `too short` or `too long` where a segment does not last as its phonemes should."""
    shortest, longest = PHONEME_S
    if duration_s < shortest * phoneme_count:
        return ["too short"]
    # A short word is drawn out, and a pause follows it.
    return ["too long"] if duration_s > 0.8 + longest * phoneme_count else []


def _lost_at_end(alignment: Alignment) -> int:
    """Return how many words are missing at the very end."""
    lost = 0
    for expected, heard in reversed(alignment.pairs):
        if heard is not None:
            break
        lost += expected is not None
    return lost
