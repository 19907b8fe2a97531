"""A full server: refused at once, queued on request, and again free."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from antiphon_client.aio import AsyncClient
from antiphon_client.conversation import Conversation
from antiphon_client.errors import ServerBusyError
from antiphon_client.events import AudioChunk, Finished
from antiphon_client.options import ConnectionOptions, Retry, SpeechOptions
from server.app import App
from tests.e2e.conftest import gauge, server_settings

FAST = SpeechOptions(seed=7, max_lead_s=3600.0)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_app(tiny_bundle: Path) -> AsyncIterator[App]:
    """A server with two places, and one seat to wait for them."""
    async with App(server_settings(tiny_bundle, max_utterances=2, max_queue=1)) as app:
        yield app


@pytest_asyncio.fixture(loop_scope="session")
async def talkers(client: AsyncClient) -> list[Conversation]:
    """Two utterances that keep both places."""
    conversations = []
    for _ in range(2):
        conversation = client.converse(FAST)
        await conversation.send_text("Somebody speaks, and does not come to an end.")
        await conversation.flush()
        async for event in conversation:
            if isinstance(event, AudioChunk):
                break
        conversations.append(conversation)
    return conversations


async def spoken(client: AsyncClient, options: SpeechOptions) -> bytes:
    """All audio of a short utterance."""
    return b"".join([chunk.audio async for chunk in client.speak("Hello.", options)])


async def test_a_full_server_refuses_at_once(app: App, client: AsyncClient, talkers: list[Conversation]) -> None:
    """The refusal has a reason, says when to come back, and is counted; who speaks goes on."""
    refused_count = gauge(app, "tts_refused_total", reason="SERVER_FULL")
    with pytest.raises(ServerBusyError, match="2 places of this server are taken; try again in") as refusal:
        await spoken(client, FAST)

    assert "SERVER_FULL" == refusal.value.reason
    assert refusal.value.retry_after_s is not None
    assert 0 < refusal.value.retry_after_s <= 30
    assert refused_count + 1 == gauge(app, "tts_refused_total", reason="SERVER_FULL")
    for talker in talkers:
        await talker.finish()
        assert [Finished] == [type(event) async for event in talker][-1:]


async def test_who_asks_may_wait(app: App, client: AsyncClient, talkers: list[Conversation]) -> None:
    """With patience an utterance gets the first place that becomes free."""
    waiting = asyncio.create_task(spoken(client, SpeechOptions(seed=7, max_queue_wait_s=30.0)))
    while not gauge(app, "tts_queue_depth"):  # noqa: ASYNC110 - a metric has no event
        await asyncio.sleep(0.01)
    talkers[0].close()

    assert await waiting
    talkers[1].close()


async def test_the_queue_is_bounded(app: App, client: AsyncClient, talkers: list[Conversation]) -> None:
    """A second one who wants to wait is refused with a reason of its own."""
    waiting = asyncio.create_task(spoken(client, SpeechOptions(seed=7, max_queue_wait_s=30.0)))
    while not gauge(app, "tts_queue_depth"):  # noqa: ASYNC110 - a metric has no event
        await asyncio.sleep(0.01)
    with pytest.raises(ServerBusyError) as refusal:
        await spoken(client, SpeechOptions(seed=7, max_queue_wait_s=30.0))

    assert "QUEUE_FULL" == refusal.value.reason
    for talker in talkers:
        talker.close()
    assert await waiting


async def test_patience_ends(client: AsyncClient, talkers: list[Conversation]) -> None:
    """A wait in vain is a third reason."""
    with pytest.raises(ServerBusyError, match=r"within 0\.1 s") as refusal:
        await spoken(client, SpeechOptions(seed=7, max_queue_wait_s=0.1))

    assert "QUEUE_TIMEOUT" == refusal.value.reason
    for talker in talkers:
        talker.close()


async def test_a_cancel_leaves_the_queue(app: App, client: AsyncClient, talkers: list[Conversation]) -> None:
    """Who interrupts before there was a place gets the answer, and the queue is empty again."""
    async with client.converse(SpeechOptions(max_queue_wait_s=30.0)) as conversation:
        await conversation.send_text("Hello.")
        while not gauge(app, "tts_queue_depth"):  # noqa: ASYNC110 - a metric has no event
            await asyncio.sleep(0.01)
        await conversation.cancel()
        await conversation.finish()
        events = [event async for event in conversation]

    assert ["Cancelled"] == [type(event).__name__ for event in events]
    assert 0 == gauge(app, "tts_queue_depth")
    for talker in talkers:
        talker.close()


async def test_a_client_tries_again_by_itself(app: App, talkers: list[Conversation]) -> None:
    """The client library waits as long as the server says and then speaks."""
    refused_count = gauge(app, "tts_refused_total", reason="SERVER_FULL")
    retry = ConnectionOptions(retry=Retry(attempt_count=50, max_wait_s=60.0))
    async with AsyncClient(f"127.0.0.1:{app.port}", retry) as client:
        speaking = asyncio.create_task(spoken(client, FAST))
        while gauge(app, "tts_refused_total", reason="SERVER_FULL") == refused_count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for talker in talkers:
            talker.close()

        assert await speaking
