"""Heartbeats and idle streams, with times of milliseconds."""

import asyncio
import dataclasses

import pytest

from antiphon.v1 import synthesis_pb2
from server.errors import IdleTimeoutError
from server.requests import StreamConfig, stream_config
from server.silence_watch import SilenceWatch


def config(idle_timeout_s: float, heartbeat_interval_s: float = 1e6) -> StreamConfig:
    """A config with times far shorter than the contract allows, so that tests are quick."""
    return dataclasses.replace(
        stream_config(synthesis_pb2.SynthesisConfig()),
        idle_timeout_s=idle_timeout_s,
        heartbeat_interval_s=heartbeat_interval_s,
    )


class Line:
    """Counts heartbeats."""

    def __init__(self) -> None:
        self.heartbeat_count = 0
        self.is_busy = False
        self.watch = SilenceWatch(self.send, lambda: self.is_busy)

    async def send(self) -> None:
        """Takes a heartbeat."""
        self.heartbeat_count += 1
        self.watch.sent()


async def test_a_silent_stream_ends() -> None:
    """Without any message the idle timeout ends the stream with a sentence."""
    line = Line()
    line.watch.configure(config(0.05))

    with pytest.raises(IdleTimeoutError, match=r"silent for 0\.05 s"):
        await line.watch.run()


async def test_messages_keep_a_stream_alive() -> None:
    """Each message, either way, starts the time anew."""
    line = Line()
    line.watch.configure(config(0.2))
    watching = asyncio.create_task(line.watch.run())
    for note in (line.watch.received, line.watch.sent) * 3:
        await asyncio.sleep(0.08)
        note()

    assert not watching.done()
    watching.cancel()


async def test_a_busy_stream_is_not_idle() -> None:
    """While the server has something to send, silence is not the client's."""
    line = Line()
    line.is_busy = True
    line.watch.configure(config(0.05))
    watching = asyncio.create_task(line.watch.run())
    await asyncio.sleep(0.2)

    assert not watching.done()
    line.is_busy = False
    with pytest.raises(IdleTimeoutError):
        await watching


async def test_heartbeats_fill_the_silence() -> None:
    """A heartbeat goes whenever nothing else did for the interval; it is no reason to stay beyond the idle timeout."""
    line = Line()
    line.watch.configure(config(10.0, 0.02))
    watching = asyncio.create_task(line.watch.run())
    await asyncio.sleep(0.2)
    watching.cancel()

    assert 2 <= line.heartbeat_count <= 10


async def test_a_new_config_takes_effect_at_once() -> None:
    """A watch that sleeps for an hour wakes for a shorter time."""
    line = Line()
    line.watch.configure(config(3600.0))
    watching = asyncio.create_task(line.watch.run())
    await asyncio.sleep(0.01)
    line.watch.configure(config(0.05))

    with pytest.raises(IdleTimeoutError):
        await asyncio.wait_for(watching, 2.0)
