"""The golden utterance of a bundle, in one form for every family.

A voice that points at its prompt keeps the ids of the prompt, and every row that a step took. Another one keeps whole
rows: of the prompt, whose last one is what the first step took, and of what each step drew.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class GoldenUtterance:
    """What `golden/talker.npz` and `golden/vocode.npz` hold.

    Attributes:
        prompt: int32 [rows, columns], what is prefilled.
        inputs: int32 [steps, columns], the row that each step takes.
        random: float32 [steps, columns], the random numbers of each step.
        params: float32 [parameters].
        frames: [frames, frame width], for the vocoder.
        seed: of the vocoder's noise.
    """

    prompt: NDArray[np.int32]
    inputs: NDArray[np.int32]
    random: NDArray[np.float32]
    params: NDArray[np.float32]
    frames: NDArray[Any]
    seed: int

    @classmethod
    def load(cls, bundle_dir: Path) -> "GoldenUtterance":
        """Read the golden vectors.

        Raises:
            FileNotFoundError: the bundle has none.
        """
        talker, vocode = (np.load(bundle_dir / "golden" / f"{name}.npz") for name in ("talker", "vocode"))
        random, rows, prompt = talker["random"], talker["rows"], talker["prompt"]
        if prompt.ndim == 1:
            inputs = rows[: len(random)]
            whole = np.full((len(prompt), rows.shape[1]), -1, np.int32)
            whole[:, 0] = prompt
        else:
            inputs = np.concatenate([prompt[-1:], rows])[: len(random)]
            whole = prompt[:-1]
        seed = int(vocode["seed"]) if "seed" in vocode else 0
        return cls(whole, inputs, random, talker["params"], vocode["frames"], seed)
