"""One utterance as the client sees it: text of every form, retries, barge-in, deadlines, errors."""

import asyncio
import wave
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import (
    DeadlineError,
    RequestError,
    ServerBusyError,
    ServerError,
    ServerUnavailableError,
    SpeechInterruptedError,
)
from antiphon_client.options import ConnectionOptions, Retry, SpeechOptions
from antiphon_client.text import Text
from tests.clients.scripted_server import Context, audio, finished, refuse, serving, speak, started

Requests = AsyncIterator[messages.SynthesizeRequest]

QUICK = ConnectionOptions(retry=Retry(attempt_count=3, first_wait_s=0.01, max_wait_s=0.5))


async def busy(requests: Requests, context: Context) -> None:
    """A full server."""
    await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "SERVER_FULL", 0.01)


async def broken_midway(requests: Requests, context: Context) -> None:
    """A server that goes away after its first audio."""
    await context.write(started())
    await context.write(audio(b"ab"))
    await refuse(context, grpc.StatusCode.UNAVAILABLE, "DRAINING", 0.01)


async def deaf(requests: Requests, context: Context) -> None:
    """A server that never answers."""
    await asyncio.sleep(60)


async def spoken(client: AsyncClient, text: Text, options: SpeechOptions | None = None) -> str:
    """What the scripted server heard, given back as audio."""
    return b"".join([chunk.audio async for chunk in client.speak(text, options)]).decode("utf-16-le")


def waiting_pieces() -> Iterator[str]:
    """Pieces of an iterator that may block."""
    yield from ("one ", "two ", "three")


async def arriving_pieces() -> AsyncIterator[str]:
    """Pieces that become known one after the other."""
    for piece in ("one ", "two ", "three"):
        await asyncio.sleep(0.001)
        yield piece


@pytest.mark.parametrize(
    "text",
    ["one two three", ["one ", "two ", "three"], waiting_pieces(), arriving_pieces()],
    ids=["string", "list", "iterator", "asynchronous"],
)
async def test_text_of_every_form_arrives_whole(text: Text) -> None:
    """A string, a list, an iterator and an asynchronous iterator all say the same."""
    async with serving(speak) as server, AsyncClient(server.target) as client:
        assert "one two three" == await spoken(client, text)


async def test_a_speech_tells_what_happened() -> None:
    """Start, totals and time to first audio are there after the last chunk."""
    async with serving(speak) as server, AsyncClient(server.target) as client:
        speech = client.speak("hello")
        chunks = [chunk async for chunk in speech]

    assert speech.started is not None
    assert speech.finished is not None
    assert speech.ttfa_s is not None
    assert ("scripted", 8000, 5) == (speech.started.voice, speech.started.sample_rate_hz, speech.started.seed)
    assert (0.5, 1) == (speech.finished.duration_s, len(chunks))
    assert 0 < speech.ttfa_s < 60


async def test_a_full_server_is_tried_again_with_the_same_text() -> None:
    """Text that was sent before a refusal is sent again, also the pieces of an iterator that cannot be rewound."""
    async with serving(busy, busy, speak) as server, AsyncClient(server.target, QUICK) as client:
        text = await spoken(client, arriving_pieces())

    assert ("one two three", 3) == (text, len(server.calls))


async def test_a_full_server_is_not_tried_for_ever() -> None:
    """After the last attempt the server's own error is raised, with its reason and its wait."""
    async with serving(busy) as server, AsyncClient(server.target, QUICK) as client:
        with pytest.raises(ServerBusyError) as refusal:
            await spoken(client, "hello")

    assert ("SERVER_FULL", 0.01, 3) == (refusal.value.reason, refusal.value.retry_after_s, len(server.calls))


async def test_a_long_wait_is_left_to_the_caller() -> None:
    """A server that asks for more patience than allowed is not tried again."""

    async def stopping(requests: Requests, context: Context) -> None:
        await refuse(context, grpc.StatusCode.UNAVAILABLE, "DRAINING", 30.0)

    async with serving(stopping) as server, AsyncClient(server.target, QUICK) as client:
        with pytest.raises(ServerUnavailableError):
            await spoken(client, "hello")

    assert 1 == len(server.calls)


async def test_nothing_is_repeated_after_the_first_audio() -> None:
    """A stream that breaks midway is an interruption, never a second start."""
    async with serving(broken_midway, speak) as server, AsyncClient(server.target, QUICK) as client:
        with pytest.raises(SpeechInterruptedError, match="broke off") as interruption:
            await spoken(client, "hello")

    assert ("DRAINING", 1) == (interruption.value.reason, len(server.calls))
    assert isinstance(interruption.value.__cause__, ServerUnavailableError)


async def test_a_wrong_request_is_not_tried_again() -> None:
    """The error names the field, and there is one call."""

    async def strict(requests: Requests, context: Context) -> None:
        await refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "OUT_OF_RANGE", field="config.seed")

    async with serving(strict) as server, AsyncClient(server.target, QUICK) as client:
        with pytest.raises(RequestError) as refusal:
            await spoken(client, "hello")

    assert ({"config.seed": "It is wrong."}, 1) == (refusal.value.fields, len(server.calls))
    assert server.calls[0]["x-request-id"] == refusal.value.request_id


async def test_nobody_there_is_unavailable() -> None:
    """A port without a server is an error of its own kind, without a reason of a server."""
    async with AsyncClient("127.0.0.1:1", ConnectionOptions(retry=Retry(attempt_count=1))) as client:
        with pytest.raises(ServerUnavailableError) as refusal:
            await spoken(client, "hello")

    assert "" == refusal.value.reason


async def test_a_timeout_ends_a_speech() -> None:
    """The deadline of the call is an error of its own kind."""
    async with serving(deaf) as server, AsyncClient(server.target, QUICK) as client:
        with pytest.raises(DeadlineError):
            await client.speak("hello", timeout_s=0.05).save("never.wav")


async def test_an_error_of_the_callers_text_reaches_the_caller() -> None:
    """What the caller's own iterator raises comes out of the iteration, and the call ends."""

    async def failing() -> AsyncIterator[str]:
        yield "one "
        raise LookupError("the model is gone")

    async with serving(speak) as server, AsyncClient(server.target) as client:
        with pytest.raises(LookupError, match="the model is gone"):
            await spoken(client, failing())


async def test_barge_in_ends_the_iteration() -> None:
    """After `cancel` no chunk comes, the text that waits is given up, and the report says what was sent."""
    asked = asyncio.Event()

    async def endless() -> AsyncIterator[str]:
        yield "one "
        await asked.wait()

    async with serving(speak) as server, AsyncClient(server.target) as client:
        speech = client.speak(endless())
        chunks = []
        async for chunk in speech:
            chunks.append(chunk)
            await speech.cancel()

    assert speech.cancelled is not None
    assert (1, 0.25, None) == (len(chunks), speech.cancelled.sent_s, speech.finished)


async def test_leaving_the_loop_ends_the_call() -> None:
    """A caller that stops iterating cancels the call on the server."""
    ended = asyncio.Event()

    async def long(requests: Requests, context: Context) -> None:
        try:
            await context.write(started())
            await context.write(audio(b"ab"))
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with serving(long) as server, AsyncClient(server.target) as client:
        chunks = aiter(client.speak("hello"))
        await anext(chunks)
        await chunks.aclose()
        await asyncio.wait_for(ended.wait(), 5)


async def test_save_writes_a_wav_file(tmp_path: Path) -> None:
    """The file has the rate of the server, the samples of the chunks, and its length is returned."""
    async with serving(speak) as server, AsyncClient(server.target) as client:
        duration_s = await client.speak(["ab", "cd"]).save(tmp_path / "out.wav")

    with wave.open(str(tmp_path / "out.wav")) as file:
        assert (1, 2, 8000) == (file.getnchannels(), file.getsampwidth(), file.getframerate())
        assert "abcd" == file.readframes(10).decode("utf-16-le")
    assert 4 / 8000 == duration_s


async def test_a_server_that_says_nothing_cannot_be_saved(tmp_path: Path) -> None:
    """A stream that ends without an utterance is an error, not an empty file."""

    async def silent(requests: Requests, context: Context) -> None:
        return

    async with serving(silent) as server, AsyncClient(server.target) as client:
        with pytest.raises(ServerError, match="without accepting"):
            await client.speak("").save(tmp_path / "out.wav")


async def test_the_api_key_is_sent() -> None:
    """A key of the options reaches the server as a bearer token."""
    async with serving(speak) as server, AsyncClient(server.target, ConnectionOptions(api_key="secret")) as client:
        await spoken(client, "hello")

    assert "Bearer secret" == server.calls[0]["authorization"]


async def test_unknown_responses_are_passed_over() -> None:
    """A response of a later version, with nothing this one knows, does not disturb."""

    async def newer(requests: Requests, context: Context) -> None:
        await context.write(messages.SynthesizeResponse())
        await context.write(started())
        await context.write(audio(b"ab"))
        await context.write(finished())

    async with serving(newer) as server, AsyncClient(server.target) as client:
        assert b"ab".decode("utf-16-le") == await spoken(client, "hello")
