"""Sampling and the stop rule once more, in plain numpy: what the graphs must do."""

import numpy as np
import numpy.typing as npt

from build_engines.graph.sampling import GREEDY_BELOW, LARGEST_TOP_COUNT
from build_engines.networks.pointer_talker_config import ADVANCE_COUNT, END_ADVANCE
from build_engines.pointer.stop_rule import StopRule


def reference_draw(logits: npt.NDArray[np.float32], temperature: float, top_p: float, uniform: float) -> int:
    """Draw one value from logits [values]."""
    if temperature < GREEDY_BELOW:
        return int(logits.argmax())
    scaled = logits.astype(np.float64) / temperature
    probabilities = np.exp(scaled - scaled.max())
    probabilities /= probabilities.sum()
    order = np.argsort(-probabilities, kind="stable")[:LARGEST_TOP_COUNT]
    running = np.cumsum(probabilities[order])
    kept = running - probabilities[order] < top_p
    threshold = uniform * running[kept][-1]
    return int(order[np.searchsorted(running[kept], threshold, side="right")])


def blocked_advances(rule: StopRule, pointer: int, dwell: int, last: int, frame_index: int) -> list[int]:
    """Return the advances that the rule forbids from this place."""
    forbidden = {
        0: pointer < last and dwell > rule.hold_limit,
        1: pointer + 1 > last,
        2: pointer + 1 > last,
        3: pointer + 2 > last,
        END_ADVANCE: pointer < last - 1 or frame_index < rule.min_frames,
    }
    return [advance for advance in range(ADVANCE_COUNT) if forbidden[advance]]


def moved(advance: int, pointer: int, dwell: int) -> tuple[int, int]:
    """Return pointer and dwell after an advance; 1 is a step in the first half of the frame, 2 in the second."""
    if advance == END_ADVANCE:
        return pointer, dwell + 2
    first, second = advance & 1, advance >> 1
    if second:
        return pointer + first + second, 0
    return pointer + first, 1 if first else dwell + 2
