"""A thread that runs sessions, set up so that they compute the same on every lane.

A step's rows are shared out over lanes that run one single-threaded session side by side (sessions free Python's
lock). Measured against sessions with a thread pool or weights of their own, that was the fastest from four rows up:
the weights stay in the shared cache, and no pool waits for a thread that a busy machine has taken off its core.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from trt_engines.onnx_runtime.denormals import flush_denormals

T = TypeVar("T")


class Lane:
    """One thread. Work given to it runs in order."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name, initializer=flush_denormals)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start work on the lane."""
        return self._executor.submit(work)

    def call(self, work: Callable[[], T]) -> T:
        """Run work on the lane and wait for its result."""
        return self._executor.submit(work).result()

    def close(self) -> None:
        """Finish what was submitted and end the thread."""
        self._executor.shutdown()


def run_side_by_side(lanes: Sequence[Lane], work: Sequence[Callable[[], object]]) -> None:
    """Deal pieces of work out to the lanes in turn, and wait for all of them."""
    futures = [lanes[i % len(lanes)].submit(piece) for i, piece in enumerate(work)]
    # First wait for all, so that a failure leaves nothing running on memory that the caller believes to be its own.
    for error in [future.exception() for future in futures]:
        if error is not None:
            raise error
