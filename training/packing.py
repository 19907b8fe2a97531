"""Several utterances heard at once: a recognizer takes half a minute of sound whether it is full or not."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.alignment import Alignment, Pair, align
from training.readings import plain_words

LONGEST_S, GAP_S = 26.0, 0.7
Samples = npt.NDArray[np.float32]


def packs(durations_s: Sequence[float]) -> Iterator[range]:
    """Yield neighbors that fit into one hearing, in order; what is too long for one stands alone."""
    start, total_s = 0, 0.0
    for index, duration_s in enumerate(durations_s):
        if index > start and total_s + duration_s > LONGEST_S:
            yield range(start, index)
            start, total_s = index, 0.0
        total_s += duration_s + GAP_S
    if start < len(durations_s):
        yield range(start, len(durations_s))


@dataclass(frozen=True)
class Hearing:
    """What a recognizer made of utterances.

    Attributes:
        alignments: one for each utterance, with its spoken form.
        packs: which utterances were heard together.
        written: what the recognizer wrote, one text for each pack.
    """

    alignments: tuple[Alignment, ...]
    packs: tuple[range, ...]
    written: tuple[str, ...]


def hear_packed(
    spoken: Sequence[str], sounds: Sequence[Samples], rate_hz: int, transcribe: Callable[[Samples], str]
) -> Hearing:
    """Hear utterances in packs.

    Args:
        spoken: forms, one for each sound.
        sounds: float32 [samples] at `rate_hz`.
        rate_hz: what the recognizer takes.
        transcribe: the recognizer.
    """
    gap = np.zeros(round(GAP_S * rate_hz), np.float32)
    together = tuple(packs([len(sound) / rate_hz for sound in sounds]))
    written: list[str] = []
    alignments: list[Alignment] = []
    for pack in together:
        parts = [part for index in pack for part in (sounds[index], gap)]
        written.append(transcribe(np.concatenate(parts)))
        joined = align(" ".join(spoken[index] for index in pack), written[-1])
        alignments += unpacked(joined, [len(plain_words(spoken[index])) for index in pack])
    return Hearing(tuple(alignments), together, tuple(written))


def unpacked(joined: Alignment, word_counts: Sequence[int]) -> list[Alignment]:
    """Cut the alignment of a pack behind the given numbers of expected words; words too many go to those before."""
    pairs, place = list(joined.pairs), 0
    found = []
    for order, count in enumerate(word_counts):
        own: list[Pair] = []
        is_last = order + 1 == len(word_counts)
        while place < len(pairs) and (is_last or count or pairs[place][0] is None):
            count -= pairs[place][0] is not None  # noqa: PLW2901 - what is left of this utterance
            own.append(pairs[place])
            place += 1
        found.append(Alignment(tuple(own)))
    return found
