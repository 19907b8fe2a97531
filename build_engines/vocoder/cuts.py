"""Cutting signals [N, time, 1, channels] in one node, along time and channels at once."""

import numpy as np

from build_engines.graph.value import Value

_TIME, _CHANNELS = 1, 3
_END = np.iinfo(np.int64).max


def steps(signal: Value, start: int, behind: int) -> Value:
    """Return the time steps from `start` on, but for the last `behind`."""
    return signal if start == behind == 0 else signal.slice(_TIME, start, -behind if behind else None)


def block(signal: Value, start: int, behind: int, first: int, end: int) -> Value:
    """Return channels `first` to `end` (exclusive) of the time steps from `start` on, but for the last `behind`."""
    bounds = ([start, first], [-behind if behind else _END, end], [_TIME, _CHANNELS])
    return signal.graph.op("Slice", [signal, *(np.asarray(bound) for bound in bounds)])


def backwards(signal: Value, first: int, count: int) -> Value:
    """Return `count` channels from `first` on downwards."""
    last = first - count
    bounds = ([first], [last if last >= 0 else -_END], [_CHANNELS], [-1])
    return signal.graph.op("Slice", [signal, *(np.asarray(bound) for bound in bounds)])
