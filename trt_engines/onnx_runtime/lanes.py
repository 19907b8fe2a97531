"""Threads that run sessions side by side: the caller's own, and some more.

A step's rows are shared out over lanes that all run one single-threaded session (sessions free Python's lock).
The weights are read into the cache that the cores share once for all of them; `row_shards` has the figures.

A thread that computes beside them takes the place of one lane meanwhile: three threads on two cores make everybody wait
for everybody, and a step cut in two reads all its weights twice: on two cores it takes about half as much processor
time again per frame, for little less time on the clock.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

from trt_engines.thread_name import name_this_thread

Work = Callable[[], object]


class Lanes:
    """Some threads, of which the first is whoever calls `run`.

    Attributes:
        count: Number of threads.
        pool_threads: Threads that every session they run has of its own, the caller's included.
    """

    def __init__(self, count: int, name: str, pool_threads: int = 1) -> None:
        self.count = count
        self.pool_threads = pool_threads
        self._taken_count = 0
        self._taking = threading.Lock()
        self._executor = ThreadPoolExecutor(max(1, count - 1), name, name_this_thread)

    @property
    def free_count(self) -> int:
        """Lanes whose place nobody has taken; the caller of `run` always has its own."""
        return max(1, self.count - self._taken_count)

    @contextmanager
    def one_taken(self) -> Iterator[None]:
        """Take the place of a lane for as long as the calling thread computes; a `run` that has begun keeps its own."""
        with self._taking:
            self._taken_count += 1
        try:
            yield
        finally:
            with self._taking:
                self._taken_count -= 1

    def run(self, work: Sequence[Work]) -> None:
        """Deal pieces of work out to the free lanes in turn, and wait for all of them even if one fails."""
        count = self.free_count
        shares = [work[lane::count] for lane in range(count)]
        futures = [self._executor.submit(_run_all, share) for share in shares[1:] if share]
        try:
            _run_all(shares[0])
        finally:
            wait(futures)
        for future in futures:
            future.result()

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown()


def _run_all(work: Sequence[Work]) -> None:
    for piece in work:
        piece()
