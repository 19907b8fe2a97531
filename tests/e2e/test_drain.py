"""Signals: what runs is finished, what is new is refused, and the exit code says whether all was well."""

import asyncio
import signal
from pathlib import Path

import pytest
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from antiphon_client.aio import AsyncClient
from antiphon_client.errors import AntiphonError, ServerUnavailableError
from antiphon_client.events import AudioChunk, Finished
from antiphon_client.options import SpeechOptions
from tests.e2e.conftest import ONCE
from tests.e2e.server_process import ServerProcess, server_process

FAST = SpeechOptions(seed=7, max_lead_s=3600.0)
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVING = health_pb2.HealthCheckResponse.SERVING


async def health(server: ServerProcess) -> health_pb2.HealthCheckResponse.ServingStatus:
    """What the server says of itself."""
    async with aio.insecure_channel(server.target) as channel:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        return answer.status


async def until_draining(server: ServerProcess) -> None:
    """Returns when the server has seen the signal."""
    async with asyncio.timeout(20):
        while await health(server) != NOT_SERVING:  # noqa: ASYNC110 - asked from outside
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_drains(tiny_bundle: Path, number: signal.Signals) -> None:
    """Running streams finish with every word, new ones get UNAVAILABLE and a time, idle ones too; exit code 0."""
    async with server_process(tiny_bundle) as server, AsyncClient(server.target, ONCE) as client:
        assert SERVING == await health(server)
        running, idle = client.converse(FAST), client.converse(FAST)
        await idle.send_text("")
        await running.send_text("This is spoken to its end.")
        await running.flush()
        events = aiter(running)
        while not isinstance(await anext(events), AudioChunk):
            pass
        server.process.send_signal(number)
        await until_draining(server)

        with pytest.raises(ServerUnavailableError, match="is stopping") as refusal:
            await client.speak("Too late.", FAST).save("never.wav")
        with pytest.raises(ServerUnavailableError, match="is stopping"):
            await anext(aiter(idle))
        await running.send_text(" And so is this.")
        await running.finish()
        rest = [event async for event in events]

        assert 0 == await server.exit_code()
    assert ("DRAINING", 1.0) == (refusal.value.reason, refusal.value.retry_after_s)
    assert isinstance(rest[-1], Finished)
    assert len("This is spoken to its end. And so is this.") == rest[-1].character_count


async def test_a_second_signal_stops_at_once(tiny_bundle: Path) -> None:
    """Who cannot wait asks twice: what runs is cut off, and the exit code tells."""
    async with server_process(tiny_bundle) as server, AsyncClient(server.target, ONCE) as client:
        running = client.converse(FAST)
        await running.send_text("This is never finished.")
        await running.flush()
        events = aiter(running)
        while not isinstance(await anext(events), AudioChunk):
            pass
        server.process.terminate()
        await until_draining(server)
        server.process.terminate()

        assert 1 == await server.exit_code()
        with pytest.raises(AntiphonError):
            [event async for event in events]


async def test_a_drain_has_a_limit(tiny_bundle: Path) -> None:
    """A stream that never ends holds the server no longer than the drain timeout."""
    async with server_process(tiny_bundle, listen__drain_timeout_s=0.2) as server, AsyncClient(server.target) as client:
        running = client.converse(FAST)
        await running.send_text("This is never finished.")
        await running.flush()
        await anext(aiter(running))
        server.process.terminate()

        assert 1 == await server.exit_code()


async def test_an_idle_server_stops_at_once(tiny_bundle: Path) -> None:
    """With nothing to finish the exit code is 0, and the log has told each step."""
    async with server_process(tiny_bundle) as server:
        server.process.terminate()

        assert 0 == await server.exit_code()
    assert ["draining", "stopping"] == [line["event"] for line in server.log]


async def test_no_text_is_ever_logged(tiny_bundle: Path) -> None:
    """The log of a call holds its id and its size, and no word of the text, of good calls and of bad ones."""
    async with server_process(tiny_bundle, log__level="debug") as server, AsyncClient(server.target, ONCE) as client:
        speech = client.speak("Pomegranate.", FAST)
        async for _ in speech:
            pass
        with pytest.raises(AntiphonError):
            await client.speak("Pomegranate.", SpeechOptions(temperature=99.0)).save("never.wav")
        server.process.terminate()
        await server.exit_code()
    calls = [line for line in server.log if line["event"] == "call"]

    assert [("OK", 12), ("INVALID_ARGUMENT", 0)] == [(call["code"], call["characters"]) for call in calls]
    assert all(call["request_id"] for call in calls)
    assert "omegranate" not in str(server.log)


async def test_a_port_that_is_taken_is_an_error(tiny_bundle: Path) -> None:
    """A second server on the same port fails with a sentence and does not share the calls."""
    async with server_process(tiny_bundle) as server:
        with pytest.raises(AssertionError, match="ended before it served"):
            async with server_process(tiny_bundle, listen__port=server.port):
                pass
