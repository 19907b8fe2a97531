"""The time on one stream: heartbeats while the server has nothing to say, and the end of a stream that is idle."""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable

from server.errors import IdleTimeoutError
from server.requests import StreamConfig

_FIRST_CONFIG_TIMEOUT_S = 60.0


class SilenceWatch:
    """Watches how long nothing came and nothing went.

    Args:
        send_heartbeat: Sends a heartbeat.
        is_busy: Whether the server has something to send, though nothing leaves just now.
    """

    def __init__(self, send_heartbeat: Callable[[], Awaitable[None]], is_busy: Callable[[], bool]) -> None:
        self._send_heartbeat = send_heartbeat
        self._is_busy = is_busy
        self._idle_timeout_s = _FIRST_CONFIG_TIMEOUT_S
        self._heartbeat_interval_s = math.inf
        self._has_changed = asyncio.Event()
        self._received_s = self._sent_s = time.monotonic()

    def configure(self, config: StreamConfig) -> None:
        """Takes the times of a config; before the first one a stream has a minute to send it."""
        self._idle_timeout_s = config.idle_timeout_s
        self._heartbeat_interval_s = config.heartbeat_interval_s
        self._has_changed.set()

    def received(self) -> None:
        """Notes that a message came."""
        self._received_s = time.monotonic()

    def sent(self) -> None:
        """Notes that a message went."""
        self._sent_s = time.monotonic()

    async def run(self) -> None:
        """Watches until it is cancelled.

        Raises:
            IdleTimeoutError: The stream was silent for too long.
        """
        while True:
            now_s = time.monotonic()
            idle_end_s = max(self._received_s, self._sent_s) + self._idle_timeout_s
            if self._is_busy():
                idle_end_s = max(idle_end_s, now_s + self._idle_timeout_s)
            if now_s >= idle_end_s:
                raise IdleTimeoutError(
                    f"The stream was silent for {self._idle_timeout_s:g} s, its idle timeout. "
                    "Send an empty text now and then to keep it, or set config.idle_timeout."
                )
            heartbeat_s = self._sent_s + self._heartbeat_interval_s
            if now_s >= heartbeat_s:
                await self._send_heartbeat()
            else:
                await self._sleep(min(idle_end_s, heartbeat_s) - now_s)

    async def _sleep(self, seconds: float) -> None:
        """Sleeps; a new config wakes it."""
        self._has_changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._has_changed.wait()
