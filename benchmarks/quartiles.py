"""Timing several pieces of work against each other on a machine that others use as well."""

import os
import time
from collections.abc import Callable

import numpy as np

ROUNDS = 12
BURST = 3
PAUSE_S = 0.01


def allow_realtime() -> None:
    """Run this process before all others from now on (Linux, as root); the pauses between bursts let them run."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def quartiles_s(
    works: list[Callable[[], object]], between: Callable[[], None] = lambda: None, rounds: int = ROUNDS
) -> list[float]:
    """Return the lower quartile of the times of each piece of work, all taking turns; of each burst the best counts."""
    times_s: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        between()
        for work, taken in zip(works, times_s, strict=True):
            taken.append(min(_duration_s(work) for _ in range(BURST)))
            time.sleep(PAUSE_S)
    return [float(np.quantile(taken, 0.25)) for taken in times_s]


def _duration_s(work: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s
