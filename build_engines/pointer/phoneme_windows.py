"""The phonemes around a pointer, before and after it moves."""

import numpy as np

from build_engines.graph.value import Value
from build_engines.networks.pointer_talker_config import WINDOW

FARTHEST_MOVE = 2
"""Phonemes that the pointer moves in one frame at most."""


class PhonemeWindows:
    """Cuts windows out of one stretch of each prompt, which reaches far enough for every move."""

    def __init__(self, prompt: Value, prompt_count: Value, pointer: Value, outside: int) -> None:
        """Take the stretch.

        Args:
            prompt: phonemes int64 [batch, P].
            prompt_count: int64 [batch, 1], how many of them there are.
            pointer: int64 [batch, 1].
            outside: what stands for a phoneme before the first and behind the last.
        """
        graph = prompt.graph
        places = pointer + np.arange(WINDOW[0], WINDOW[-1] + FARTHEST_MOVE + 1)[None]
        inside = (places >= 0) & (places < prompt_count)
        bounded = graph.op("Min", [graph.op("Max", [places, np.asarray(0)]), graph.size(prompt, 1) - 1])
        phonemes = graph.op("GatherElements", [prompt, bounded], axis=1)
        self._stretch = graph.where(inside, phonemes, np.asarray(outside))

    def before(self) -> Value:
        """Return the phonemes int64 [batch, 5] around the pointer."""
        return self._stretch.slice(1, 0, len(WINDOW))

    def after(self, move: Value) -> Value:
        """Return those around the pointer after it has moved by 0 to 2, `move` [batch, 1]."""
        places = move + np.arange(len(WINDOW))[None]
        return self._stretch.graph.op("GatherElements", [self._stretch, places], axis=1)
