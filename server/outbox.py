"""Where the events of one utterance wait for its reader, who is handed audio by the playback clock.

The threads that make audio call `deliver`, which crosses to the event loop once for a whole batch; everything else
happens on the event loop. What is bounded here is seconds of audio: the reader gets a chunk only when its listener is
less than the lead limit behind (gRPC would gladly take a minute and more), and `taken_s` tells the scheduler how far
the reader has come, so that it makes no more for one that has stopped.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable

from server.errors import AntiphonError
from server.pacing import PlaybackClock
from server.utterance import AudioChunk, Cancelled, Event, Finished, WordTiming


class Outbox:
    """Events in, events out, in order, until a terminal one: `Finished`, `Cancelled` or an error.

    Args:
        lead_limit_s: Seconds of audio handed out ahead of playback at most; infinity hands out everything at once.
        lead_s: Audio of the utterance before on the same stream that the listener has not yet played.
        clock: Monotonic seconds.
        on_taken: Called after each chunk that the reader has taken; tells the worker to look again.
        on_put: Called with every event that is put in, before it is read.

    Attributes:
        taken_s: Audio that the reader has taken. May be read on any thread.
    """

    def __init__(
        self,
        lead_limit_s: float,
        lead_s: float,
        clock: Callable[[], float],
        on_taken: Callable[[], None],
        on_put: Callable[[Event | AntiphonError], None],
    ) -> None:
        self.taken_s = 0.0
        self._lead_limit_s = lead_limit_s
        self._clock = clock
        self._on_taken = on_taken
        self._on_put = on_put
        self._playback = PlaybackClock()
        self._playback.end_s = clock() + lead_s if lead_s else -math.inf
        self._events: deque[Event | AntiphonError] = deque()
        self._changed = asyncio.Event()
        self._words: list[WordTiming] = []
        self._is_sealed = False  # the terminal event is in; nothing may follow
        self._is_over = False  # the terminal event is out

    @property
    def lead_s(self) -> float:
        """Audio handed out that the listener has not yet played."""
        return self._playback.lead_s(self._clock())

    def put(self, event: Event | AntiphonError) -> None:
        """Add an event; dropped if a terminal one is in."""
        if self._is_sealed:
            return
        self._events.append(event)
        self._is_sealed = isinstance(event, Finished | Cancelled | AntiphonError)
        self._changed.set()
        self._on_put(event)

    def cancel(self) -> None:
        """Drop what is not handed out and end with `Cancelled`; nothing if the end is handed out already."""
        if self._is_over:
            return
        self._events.clear()
        self._is_sealed = False
        played_s = max(0.0, self._playback.played_s(self._clock()))
        heard = [word for word in self._words if word.start_s < played_s]
        last_word = self._words[-1] if self._words else None
        self.put(Cancelled(self._playback.delivered_s, played_s, last_word, heard[-1] if heard else None))

    def close(self) -> None:
        """Drop everything; a reader that waits is let go."""
        self._events.clear()
        self._is_sealed = self._is_over = True
        self._changed.set()

    async def take(self) -> Event | None:
        """Wait for the next event whose time has come; None after the terminal one.

        Raises:
            AntiphonError: The terminal event is this error.
        """
        while not self._is_over:
            wait_s = self._wait_s()
            if wait_s <= 0.0:
                return self._hand_out(self._events.popleft())
            await self._wait(wait_s)
        return None

    def _wait_s(self) -> float:
        """Return how long the first event has to wait, infinity if there is none."""
        if not self._events:
            return math.inf
        event = self._events[0]
        if not isinstance(event, AudioChunk):
            return 0.0
        # A chunk longer than the limit goes out when the listener has nothing left.
        return min(self.lead_s, self.lead_s + event.duration_s - self._lead_limit_s)

    async def _wait(self, wait_s: float) -> None:
        self._changed.clear()
        loop = asyncio.get_running_loop()
        timer = loop.call_later(wait_s, self._changed.set) if wait_s < math.inf else None
        try:
            await self._changed.wait()
        finally:
            if timer:
                timer.cancel()

    def _hand_out(self, event: Event | AntiphonError) -> Event:
        if isinstance(event, AntiphonError):
            self._is_over = True
            raise event
        self._is_over = isinstance(event, Finished | Cancelled)
        if isinstance(event, AudioChunk):
            self._playback.deliver(self._clock(), event.duration_s)
            self._words.extend(event.words)
            self.taken_s += event.duration_s
            self._on_taken()
        return event


def deliver(loop: asyncio.AbstractEventLoop, deliveries: Iterable[tuple[Outbox, Event | AntiphonError]]) -> None:
    """Put events into their outboxes from any thread, in order, waking the event loop once."""
    loop.call_soon_threadsafe(_put_all, tuple(deliveries))


def _put_all(deliveries: Iterable[tuple[Outbox, Event | AntiphonError]]) -> None:
    for outbox, event in deliveries:
        outbox.put(event)
