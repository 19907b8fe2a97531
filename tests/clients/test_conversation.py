"""A stream of several utterances, as the client sees it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import StreamEndedError
from antiphon_client.events import AudioChunk, Finished
from antiphon_client.options import SpeechOptions
from tests.clients.scripted_server import Context, serving, speak

Requests = AsyncIterator[messages.SynthesizeRequest]


async def test_messages_arrive_in_the_order_they_were_sent() -> None:
    """The config comes first by itself, then everything as the caller wrote it."""
    received: list[messages.SynthesizeRequest] = []

    async def listen(requests: Requests, context: Context) -> None:
        received.extend([request async for request in requests])

    one = SpeechOptions(voice="one")
    async with (
        serving(listen) as server,
        AsyncClient(server.target) as client,
        client.converse(one) as conversation,
    ):
        await conversation.send_text("a")
        await conversation.flush()
        await conversation.configure(SpeechOptions(voice="two"))
        await conversation.send_text("b")
        await conversation.end_utterance()
        await conversation.cancel()
        await conversation.finish()
        assert [] == [event async for event in conversation]

    kinds = [request.WhichOneof("message") for request in received]
    assert ["config", "text", "flush", "config", "text", "flush", "cancel"] == kinds
    assert ["one", "two"] == [request.config.voice for request in received if request.HasField("config")]
    assert [False, True] == [request.flush.end_utterance for request in received if request.HasField("flush")]


async def test_one_task_sends_while_another_listens() -> None:
    """Audio of the first words comes before the last ones are sent."""
    async with serving(speak) as server, AsyncClient(server.target) as client, client.converse() as conversation:
        events = aiter(conversation)
        await conversation.send_text("a")
        await anext(events)
        first = await anext(events)
        await conversation.send_text("b")
        await conversation.finish()
        later = [event async for event in events]

    assert isinstance(first, AudioChunk)
    assert [AudioChunk, Finished] == [type(event) for event in later]


async def test_many_tasks_may_send() -> None:
    """Writes of several tasks follow each other; gRPC itself would refuse them."""
    async with serving(speak) as server, AsyncClient(server.target) as client, client.converse() as conversation:
        await asyncio.gather(*(conversation.send_text("ab" * 5000) for _ in range(20)))
        await conversation.finish()
        audio = [event.audio async for event in conversation if isinstance(event, AudioChunk)]

    assert 20 * 10000 * 2 == sum(map(len, audio))


async def test_closing_ends_the_iteration() -> None:
    """`close` from another task ends the events quietly, as if the stream were over."""
    async with serving(speak) as server, AsyncClient(server.target) as client, client.converse() as conversation:
        await conversation.send_text("a")
        listening = asyncio.create_task(_all(conversation.__aiter__()))
        await asyncio.sleep(0.05)
        conversation.close()

        assert 2 == len(await asyncio.wait_for(listening, 5))


async def test_a_cancelled_reader_is_cancelled() -> None:
    """Cancelling the task that listens cancels it, also after `close`."""
    async with serving(speak) as server, AsyncClient(server.target) as client, client.converse() as conversation:
        await conversation.send_text("a")
        listening = asyncio.create_task(_all(conversation.__aiter__()))
        await asyncio.sleep(0.05)
        listening.cancel()

        with pytest.raises(asyncio.CancelledError):
            await listening


async def test_sending_on_an_ended_stream_is_refused() -> None:
    """After the end of the stream a send says so."""
    async with serving(speak) as server, AsyncClient(server.target) as client, client.converse() as conversation:
        await conversation.finish()
        assert [] == [event async for event in conversation]

        with pytest.raises(StreamEndedError, match="has ended"):
            await conversation.send_text("too late")


async def _all(events: AsyncIterator[object]) -> list[object]:
    return [event async for event in events]
