"""Who may speak: a bounded number at once, a bounded queue of those who asked to wait, nobody new while draining.

Lives on the event loop. A place is taken when an utterance is opened and given back when it has come to its end.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable

from server.config import AdmissionSettings
from server.errors import (
    DeadlineExceededError,
    DrainingError,
    QueueFullError,
    QueueTimeoutError,
    RefusedError,
    ServerFullError,
)
from server.metrics import Metrics

_RETRY_AFTER_RANGE_S = (0.1, 30.0)
_DRAIN_RETRY_AFTER_S = 1.0  # another server takes over; there is nothing to wait for on this one
_MEMORY = 0.9  # weight of the past in the mean time between two departures


class Admission:
    """Gives places and takes them back.

    Args:
        settings: The bounds.
        capacity: Returns how many utterances the engine can keep up with; asked only if the settings want it.
        metrics: Where places, waits and refusals are counted.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        settings: AdmissionSettings,
        capacity: Callable[[float], int],
        metrics: Metrics,
        clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._capacity = capacity
        self._metrics = metrics
        self._clock = clock
        self._active_count = 0
        self._queue: deque[asyncio.Future[bool]] = deque()  # True: a place; False: the server drains
        self._is_draining = False
        self._empty = asyncio.Event()
        self._empty.set()
        self._last_departure_s = clock()
        self._between_departures_s = 1.0

    @property
    def is_draining(self) -> bool:
        """Whether nobody new is taken."""
        return self._is_draining

    @property
    def active_count(self) -> int:
        """Utterances that have a place."""
        return self._active_count

    async def enter(self, queue_timeout_s: float, deadline_s: float, *, is_live: bool) -> None:
        """Take a place, or wait for one for at most `queue_timeout_s`.

        Args:
            queue_timeout_s: 0 does not wait.
            deadline_s: Moment at which waiting is in vain.
            is_live: Whether somebody listens as it is made; else the engine may take its time.

        Raises:
            DrainingError: Nobody new is taken.
            ServerFullError: No place is free, and the caller does not wait.
            QueueFullError: Too many wait already.
            QueueTimeoutError: The wait was in vain.
            DeadlineExceededError: The deadline came first.
        """
        began_s = self._clock()
        if deadline_s <= began_s:
            raise DeadlineExceededError("The deadline had passed before the utterance began; ask for more time.")
        self._refuse_if_draining()
        limit = self._limit(is_live=is_live)
        if self._queue or self._active_count >= limit:
            await self._wait_in_queue(queue_timeout_s, deadline_s, limit)
        else:
            self._occupy()
        self._metrics.queue_wait.observe(self._clock() - began_s)

    def leave(self) -> None:
        """Give a place back; the first in the queue gets it."""
        self._active_count -= 1
        now_s = self._clock()
        since_s = now_s - self._last_departure_s
        self._last_departure_s = now_s
        self._between_departures_s = _MEMORY * self._between_departures_s + (1.0 - _MEMORY) * since_s
        while self._queue and self._active_count < self._limit(is_live=True):
            self._occupy()
            self._queue.popleft().set_result(True)
        if not self._active_count:
            self._empty.set()
        self._count()

    def drain(self) -> None:
        """Refuse everyone from now on, also those who wait."""
        self._is_draining = True
        while self._queue:
            self._queue.popleft().set_result(False)
        self._count()

    async def wait_empty(self) -> None:
        """Return when no place is taken."""
        await self._empty.wait()

    def retry_after_s(self) -> float:
        """Return after how many seconds a place is likely to be free, given how fast they became free lately."""
        low, high = _RETRY_AFTER_RANGE_S
        return min(high, max(low, self._between_departures_s * (len(self._queue) + 1)))

    def _limit(self, *, is_live: bool) -> int:
        settings = self._settings
        if not settings.max_load or not is_live:
            return settings.max_utterances
        return min(settings.max_utterances, max(1, self._capacity(settings.max_load)))

    def _occupy(self) -> None:
        self._active_count += 1
        self._empty.clear()
        self._count()

    async def _wait_in_queue(self, queue_timeout_s: float, deadline_s: float, limit: int) -> None:
        if queue_timeout_s <= 0.0:
            raise self._refused(ServerFullError, f"All {limit} places of this server are taken")
        if len(self._queue) >= self._settings.max_queue:
            raise self._refused(QueueFullError, f"{len(self._queue)} utterances wait already, the most that may")
        left_s = deadline_s - self._clock()
        if not await self._has_been_called(min(queue_timeout_s, left_s)):
            if left_s < queue_timeout_s:
                raise DeadlineExceededError("The deadline came while the utterance waited for a place.")
            raise self._refused(QueueTimeoutError, f"No place became free within {queue_timeout_s:g} s")

    async def _has_been_called(self, timeout_s: float) -> bool:
        """Wait at the end of the queue and return whether it ended with a place."""
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._count()
        is_served = False
        try:
            await asyncio.wait((turn,), timeout=None if timeout_s == math.inf else timeout_s)
            is_served = turn.done()
        finally:
            if not is_served:
                self._give_up(turn)
        if is_served:
            self._refuse_if_draining()
        return is_served

    def _give_up(self, turn: asyncio.Future[bool]) -> None:
        """Leave the queue; the place that came in the very moment the caller went away is given back."""
        if not turn.done():
            self._queue.remove(turn)
        elif turn.result():
            self.leave()
        self._count()

    def _refuse_if_draining(self) -> None:
        if self._is_draining:
            self._metrics.refused.labels(DrainingError.reason).inc()
            raise DrainingError(
                "This server is about to stop and takes nothing new; try another.", _DRAIN_RETRY_AFTER_S
            )

    def _refused(self, kind: type[RefusedError], what: str) -> RefusedError:
        self._metrics.refused.labels(kind.reason).inc()
        retry_after_s = self.retry_after_s()
        return kind(f"{what}; try again in {retry_after_s:.1f} s.", retry_after_s)

    def _count(self) -> None:
        self._metrics.active_streams.set(self._active_count)
        self._metrics.queue_depth.set(len(self._queue))
        self._metrics.capacity.set(self._limit(is_live=True))
