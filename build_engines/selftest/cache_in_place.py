"""Is each cache really updated in place: one position for each step, and nothing else?"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from build_engines.selftest.finding import Finding
from build_engines.selftest.spoken_prompts import SpokenPrompts
from trt_engines.tensorrt.talker import TensorrtTalker

STEP_COUNT = 200


def cache_in_place(talker: TensorrtTalker, prompts: SpokenPrompts, layer_count: int) -> Iterator[Finding]:
    """Yield what 200 steps do to the first and the last layer's caches of one slot, which are cleared before."""
    names = sorted({f"{half}_{layer}" for layer in (0, layer_count - 1) for half in "kv"})
    prompts.prefill(talker, 0)
    talker.clear_cache(0)
    prompts.prefill(talker, 0)  # into the same row, the lowest free one
    before = {name: talker.cache(0, name) for name in names}
    prompted = len(prompts.row_ids) - 1
    step_count = min(STEP_COUNT, before[names[0]].shape[1] - prompted)
    for index in range(step_count):
        prompts.step(talker, [0], [0], index)
    after = {name: talker.cache(0, name) for name in names}
    talker.release(0)
    spoilt = max(_position_count(before[name][:, :prompted] != after[name][:, :prompted]) for name in names)
    yield Finding(f"prompt positions that {step_count} steps have changed", spoilt, limit=0)
    stepped = slice(prompted, prompted + step_count)  # steps ahead of these may have been made too
    written = min(_position_count(after[name][:, stepped] != 0) for name in names)
    yield Finding(f"positions that {step_count} steps have written", written, limit=step_count, bound="at least")


def _position_count(marked: NDArray[np.bool_]) -> int:
    """Return how many positions of [heads, positions, head dim] have any mark."""
    return int(marked.any(axis=(0, 2)).sum())
