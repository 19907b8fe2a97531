"""The loop that descends a loss of named parts, with progress and checkpoints; codec and voices are trained by it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

_LARGEST_GRADIENT_NORM = 1.0


@dataclass(frozen=True)
class LossLoop:
    """What is trained, and how.

    Attributes:
        name: shown beside the progress.
        optimizer: holds the parameters that are learned.
        losses: returns the named parts of the loss of one new batch.
        rate_at: returns the learning rate of a step.
        save: writes a checkpoint after so many steps.
        save_every, report_every: steps from one checkpoint, or report, to the next.
    """

    name: str
    optimizer: torch.optim.Optimizer
    losses: Callable[[], Mapping[str, Tensor]]
    rate_at: Callable[[int], float]
    save: Callable[[int], None]
    save_every: int
    report_every: int

    def run(self, step: int, steps: int, weights: Mapping[str, float] | None = None) -> None:
        """Go on at `step` until `steps` are done; parts without a weight count once."""
        recent: list[dict[str, float]] = []
        with tqdm(total=steps, initial=step, desc=self.name, unit="step") as progress:
            while step < steps:
                parts = self._learn(self.rate_at(step), weights or {})
                step += 1
                progress.update()
                recent = [*recent, parts][-self.report_every :]
                if step % self.report_every == 0:
                    progress.set_postfix({name: f"{np.mean([item[name] for item in recent]):.3f}" for name in parts})
                if step % self.save_every == 0 or step == steps:
                    self.save(step)

    def _learn(self, rate: float, weights: Mapping[str, float]) -> dict[str, float]:
        """Take one step; returns the parts of the loss, unweighted."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        parts = self.losses()
        self.optimizer.zero_grad(set_to_none=True)
        torch.stack([weights.get(name, 1.0) * part for name, part in parts.items()]).sum().backward()
        learned = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        torch.nn.utils.clip_grad_norm_(learned, _LARGEST_GRADIENT_NORM)
        self.optimizer.step()
        return {name: part.item() for name, part in parts.items()}
