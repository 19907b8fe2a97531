"""Callers that interrupt, vanish, run out of time or stop reading, and those beside them who notice nothing."""

import asyncio
import time
from pathlib import Path

import grpc
import pytest
from grpc import aio

from antiphon.v1 import synthesis_pb2
from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1.text_to_speech_service_pb2_grpc import TextToSpeechServiceStub
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import DeadlineError, error_from_rpc
from antiphon_client.events import AudioChunk, Cancelled, Finished, Started
from antiphon_client.options import SpeechOptions
from server.app import App
from tests.e2e.conftest import gauge, idle, server_settings

LONG_TEXT = "This sentence is one of very many, and they are all alike. " * 200
FAST = SpeechOptions(seed=7, max_lead_s=3600.0)


async def test_barge_in_is_answered_and_the_stream_goes_on(client: AsyncClient) -> None:
    """A cancel brings exactly one answer and no audio after it; the next text is the next utterance."""
    async with client.converse(FAST) as conversation:
        events = aiter(conversation)
        await conversation.send_text(LONG_TEXT)
        while not isinstance(await anext(events), AudioChunk):
            pass
        await conversation.cancel()
        await conversation.send_text("Something else.")
        await conversation.finish()
        rest = [event async for event in events]
    cancelled = [event for event in rest if isinstance(event, Cancelled)]
    after = rest[rest.index(cancelled[0]) + 1 :]

    assert 1 == len(cancelled)
    assert 0 < cancelled[0].sent_s
    assert 0 <= cancelled[0].played_s <= cancelled[0].sent_s
    assert [0, 1] == [cancelled[0].utterance_index, after[0].utterance_index]
    assert (Started, Finished) == (type(after[0]), type(after[-1]))
    assert {1} == {event.utterance_index for event in after}


async def test_a_book_is_accepted_and_can_be_stopped(client: AsyncClient) -> None:
    """A hundred thousand characters at once are spoken from their beginning, and given up on demand."""
    async with client.converse(FAST) as conversation:
        await conversation.send_text(LONG_TEXT * 9)
        events = aiter(conversation)
        while not isinstance(await anext(events), AudioChunk):
            pass
        await conversation.cancel()
        await conversation.finish()
        *_, last = [event async for event in events]

    assert 100_000 < len(LONG_TEXT * 9)
    assert isinstance(last, Cancelled)
    assert 0 < last.sent_s


async def test_every_cancel_is_answered_also_for_nothing(client: AsyncClient) -> None:
    """Cancels before any text, and twice in a row, each get their answer."""
    async with client.converse(FAST) as conversation:
        await conversation.cancel()
        await conversation.send_text("Hello.")
        await conversation.cancel()
        await conversation.cancel()
        await conversation.finish()
        events = [event async for event in conversation]
    cancelled = [event for event in events if isinstance(event, Cancelled)]

    assert 3 == len(cancelled)
    assert (0.0, 0.0) == (cancelled[0].sent_s, cancelled[2].sent_s)


async def test_a_cancel_drops_utterances_that_wait_their_turn(client: AsyncClient) -> None:
    """Text of later utterances, sent before the cancel, is never heard."""
    async with client.converse(FAST) as conversation:
        for text in (LONG_TEXT, "Two.", "Three."):
            await conversation.send_text(text)
            await conversation.end_utterance()
        await conversation.cancel()
        await conversation.send_text("Four.")
        await conversation.finish()
        events = [event async for event in conversation]

    assert [3] == [event.utterance_index for event in events if isinstance(event, Finished)]
    assert not [event for event in events if event.utterance_index in (1, 2)]


async def test_a_client_that_vanishes_frees_its_slot(app: App, client: AsyncClient) -> None:
    """Closing the call in the middle of a speech gives slot and place back at once."""
    conversation = client.converse(FAST)
    await conversation.send_text(LONG_TEXT)
    async for event in conversation:
        if isinstance(event, AudioChunk):
            break
    assert 1 == gauge(app, "tts_slots_in_use")
    conversation.close()

    await idle(app, timeout_s=2.0)


async def test_a_connection_that_breaks_frees_its_slots(app: App) -> None:
    """Closing the whole connection does the same for every stream on it."""
    async with AsyncClient(f"127.0.0.1:{app.port}") as client:
        for _ in range(4):
            conversation = client.converse(FAST)
            await conversation.send_text(LONG_TEXT)
            async for event in conversation:
                if isinstance(event, AudioChunk):
                    break

    await idle(app, timeout_s=2.0)


async def test_a_deadline_ends_a_speech(app: App, client: AsyncClient) -> None:
    """When the time of the call is over, the client is told and the slot is free."""
    began_s = time.monotonic()
    with pytest.raises(DeadlineError):
        async for _ in client.speak(LONG_TEXT, SpeechOptions(max_lead_s=0.5), timeout_s=0.5):
            pass

    assert time.monotonic() - began_s < 10
    await idle(app, timeout_s=2.0)


async def test_a_reader_that_stops_is_held_at_its_lead(app: App, client: AsyncClient) -> None:
    """A client that reads nothing gets no more than its lead, and another one is served as if it were alone."""
    alone = b"".join([chunk.audio async for chunk in client.speak("Hello there.", FAST)])
    request = messages.SynthesizeRequest
    config = synthesis_pb2.SynthesisConfig(seed=1)
    config.max_lead.FromMilliseconds(500)
    async with aio.insecure_channel(
        f"127.0.0.1:{app.port}", options=(("grpc.http2.lookahead_bytes", 4096), ("grpc.http2.bdp_probe", 0))
    ) as channel:
        call = TextToSpeechServiceStub(channel).Synthesize()
        await call.write(request(config=config))
        await call.write(request(text=LONG_TEXT))
        await call.read()
        before_s = gauge(app, "tts_audio_seconds_total")
        began_s = time.monotonic()
        await asyncio.sleep(1.5)
        sent_s = gauge(app, "tts_audio_seconds_total") - before_s
        other = b"".join([chunk.audio async for chunk in client.speak("Hello there.", FAST)])
        call.cancel()

    assert sent_s <= time.monotonic() - began_s + 0.5 + 2.0  # at most real time, the lead, and one largest chunk
    assert alone == other
    await idle(app, timeout_s=2.0)


async def test_a_reader_that_stays_away_is_given_up(tiny_bundle: Path) -> None:
    """Who reads nothing for the stall timeout loses the place; who reads on later is told why."""
    async with App(server_settings(tiny_bundle, stall_timeout_s=0.5)) as app:
        config = synthesis_pb2.SynthesisConfig(seed=1)
        config.max_lead.FromSeconds(3600)
        async with aio.insecure_channel(f"127.0.0.1:{app.port}", options=(("grpc.http2.bdp_probe", 0),)) as channel:
            call = TextToSpeechServiceStub(channel).Synthesize()
            await call.write(messages.SynthesizeRequest(config=config))
            await call.write(messages.SynthesizeRequest(text=LONG_TEXT))
            await call.read()
            await idle(app, timeout_s=20.0)
            with pytest.raises(aio.AioRpcError, match="Nothing was read for") as error:
                await asyncio.wait_for(read_all(call), 20)

    assert ("READER_STALLED", grpc.StatusCode.ABORTED) == (error_from_rpc(error.value).reason, error.value.code())


async def read_all(call: aio.StreamStreamCall[messages.SynthesizeRequest, messages.SynthesizeResponse]) -> None:
    """Reads on to the end."""
    while await call.read() is not aio.EOF:
        pass


async def test_an_idle_stream_ends_with_a_sentence(client: AsyncClient) -> None:
    """Silence for the idle timeout ends the stream; heartbeats were sent meanwhile and are no events."""
    async with client.converse(SpeechOptions(idle_timeout_s=1.0, heartbeat_interval_s=1.0)) as conversation:
        await conversation.send_text("")
        with pytest.raises(DeadlineError, match="silent for 1 s") as end:
            async for _ in conversation:
                pass

    assert "IDLE_TIMEOUT" == end.value.reason
