"""Speaks a batch of utterances with the graphs `prefill` and `step`, and keeps everything that went in and came out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.networks.pointer_talker_config import BEGIN_ADVANCE
from build_engines.verification.graph_runner import Arrays, GraphRunner
from trt_engines.randomness import uniform

Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TalkerRun:
    """What happened.

    Attributes:
        prompts: phoneme ids of each utterance.
        params: [batch, parameters].
        random: [steps, batch, columns].
        rows: [steps + 1, batch, columns of a row]; row s is the input of step s, row s + 1 its output.
        done: bool [steps, batch].
        caches: after the last step, by name, [batch, heads, capacity, head_dim].
    """

    prompts: Sequence[Int32s]
    params: Floats
    random: Floats
    rows: Int32s
    done: npt.NDArray[np.bool_]
    caches: Arrays


@dataclass(frozen=True)
class TalkerDriver:
    """The two graphs and how to drive them.

    Attributes:
        prefill, step: the graphs.
        codebook_count: codes of a frame.
        chunk_rows: prompt rows in one call of `prefill`.
        capacity: positions of the caches.
    """

    prefill: GraphRunner
    step: GraphRunner
    codebook_count: int
    chunk_rows: int
    capacity: int

    def speak(self, prompts: Sequence[Int32s], params: Floats, step_count: int) -> TalkerRun:
        """Run `step_count` steps for every prompt, whether or not it is done before."""
        batch, counts = len(prompts), np.asarray([len(prompt) for prompt in prompts], np.int32)
        padded = np.stack([np.pad(prompt, (0, counts.max() - len(prompt))) for prompt in prompts])
        caches = self._prefilled(padded, counts)
        rows = [np.zeros((batch, 4 + self.codebook_count), np.int32)]
        rows[0][:, :2] = -1, BEGIN_ADVANCE
        random, done = [], []
        for index in range(step_count):
            random.append(uniform(range(batch), [index] * batch, 1 + self.codebook_count))
            feeds = {"row_ids": rows[-1], "position": counts + np.int32(index), "params": params, "random": random[-1]}
            made = self.step.run({**feeds, "prompt": padded, "prompt_count": counts, **caches})
            caches = {name: made[f"{name}_out"] for name in caches}
            rows.append(made["next_row_ids"])
            done.append(made["done"])
        return TalkerRun(prompts, params, np.stack(random), np.stack(rows), np.stack(done), caches)

    def _prefilled(self, padded: Int32s, counts: Int32s) -> Arrays:
        """Fill the caches chunk by chunk; rows behind a prompt are padding, as in the engine."""
        caches = self.prefill.empty_caches(len(padded), self.capacity)
        for start in range(0, padded.shape[1], self.chunk_rows):
            chunk = padded[:, start : start + self.chunk_rows]
            rows = np.full((*chunk.shape, 4 + self.codebook_count), -1, np.int32)
            rows[..., 0] = chunk
            valid = np.clip(counts - start, 0, chunk.shape[1]).astype(np.int32)
            position = np.full(len(padded), start, np.int32)
            made = self.prefill.run({"row_ids": rows, "row_count": valid, "position": position, **caches})
            caches = {name: made[f"{name}_out"] for name in caches}
        return caches
