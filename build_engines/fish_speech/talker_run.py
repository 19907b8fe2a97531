"""Speaks a batch of random prompts with the graphs `prefill` and `step`, and keeps what went in and came out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from build_engines.fish_speech.step import HISTORY_FRAMES
from build_engines.verification.graph_runner import Arrays, GraphRunner
from trt_engines.randomness import uniform

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True)
class TalkerRun:
    """What happened.

    Attributes:
        prompts: int32 [rows, columns] of each item.
        params: float32 [batch, parameters].
        random: float32 [steps, batch, columns].
        drawn: int32 [steps, batch, columns of a row].
        caches: after the last step, by name, [batch, heads, capacity, head_dim].
    """

    prompts: Sequence[Rows]
    params: npt.NDArray[np.float32]
    random: npt.NDArray[np.float32]
    drawn: Rows
    caches: Arrays

    def rows(self, index: int) -> torch.Tensor:
        """Return the rows int64 [prompt + steps, columns] of one item: its prompt, and what was drawn after it."""
        return torch.from_numpy(np.concatenate([self.prompts[index], self.drawn[:, index]])).long()


def speak(
    prefill: GraphRunner, step: GraphRunner, prompts: Sequence[Rows], params: npt.NDArray[np.float32], steps: int
) -> TalkerRun:
    """Prefill prompts of any lengths in one call and make `steps` frames of each, past the stop token if need be."""
    batch, columns = len(prompts), prompts[0].shape[1]
    counts = np.asarray([len(rows) - 1 for rows in prompts], np.int32)
    longest = int(counts.max())
    padded = np.stack([np.pad(rows[:-1], ((0, longest + 1 - len(rows)), (0, 0))) for rows in prompts])
    state = step.empty_caches(batch, longest + steps + 1)
    feeds = {"row_ids": padded, "row_count": counts, "position": np.zeros(batch, np.int32)}
    state.update(_kept(prefill.run({**feeds, **state})))
    state["history"] = np.zeros((batch, HISTORY_FRAMES, columns), np.int32)
    state["frame_count"] = np.zeros((batch, 1), np.int32)
    random = np.stack([uniform(range(batch), [index] * batch, columns - 1) for index in range(steps)])
    rows, drawn = np.stack([prompt[-1] for prompt in prompts]), []
    for index in range(steps):
        feeds = {"row_ids": rows, "position": counts + np.int32(index), "active": np.ones(batch, np.bool_)}
        outputs = step.run({**feeds, "params": params, "random": random[index], **state})
        state.update(_kept(outputs))
        rows = outputs["next_row_ids"]
        drawn.append(rows)
    caches = {name: array for name, array in state.items() if name[:2] in ("k_", "v_")}
    return TalkerRun(prompts, params, random, np.stack(drawn), caches)


def _kept(outputs: Arrays) -> Arrays:
    return {name.removesuffix("_out"): array for name, array in outputs.items() if name.endswith("_out")}
