"""Threads that run sessions side by side: the caller's own, and some more.

A step's rows are shared out over lanes that all run one single-threaded session (sessions free Python's lock).
The weights are read into the cache that the cores share once for all of them; `row_shards` has the figures.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

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
        self._executor = ThreadPoolExecutor(max(1, count - 1), name)

    def run(self, work: Sequence[Work]) -> None:
        """Deal pieces of work out to the lanes in turn, and wait for all of them even if one fails."""
        shares = [work[lane :: self.count] for lane in range(self.count)]
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
