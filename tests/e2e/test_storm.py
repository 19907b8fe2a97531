"""A minute of bad weather: thirty-two streams that come, go, vanish, dawdle and misbehave at random.

Whatever happens, every healthy utterance sounds as it does alone, with every word once, and nothing is left behind.
"""

import asyncio
import collections
import hashlib
import random
import time
from collections.abc import Awaitable, Callable, Mapping

import grpc
import pytest
from grpc import aio

from antiphon.v1 import synthesis_pb2
from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1.text_to_speech_service_pb2_grpc import TextToSpeechServiceStub
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import DeadlineError, RequestError, ServerBusyError
from antiphon_client.events import AudioChunk, Cancelled, Finished
from antiphon_client.options import SpeechOptions
from server.app import App
from tests.e2e.conftest import gauge, idle

STREAM_COUNT = 32
DURATION_S = 60.0
TEXTS = (
    "Rain.",
    "The wind has turned, and the rain is coming from the west.",
    "First there was a cloud. Then there were many of them! Who counted them? Nobody did, and nobody will.",
    "It rained on the 3rd of May, at 9:45, for $20 an hour. " * 3,
    "A sentence without an end, because whoever wrote it was interrupted by thunder and",
)
SEEDS = (1, 2, 3)
Digests = Mapping[tuple[str, int], bytes]
Deed = Callable[[random.Random], Awaitable[None]]


def fast(seed: int) -> SpeechOptions:
    """As fast as it can be made."""
    return SpeechOptions(seed=seed, max_lead_s=3600.0, max_queue_wait_s=120.0)


def pieces(text: str, dice: random.Random) -> list[str]:
    """A text cut at random."""
    cuts = sorted(dice.randrange(len(text) + 1) for _ in range(dice.randrange(12)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


class Storm:
    """What streams do in it, and how often they did it.

    Args:
        target: Where the server is.
        client: A client of it.
        alone: How each text sounds alone, by text and seed.
    """

    def __init__(self, target: str, client: AsyncClient, alone: Digests) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self._target = target
        self._client = client
        self._alone = alone
        self._deeds: tuple[Deed, ...] = (
            self.speak, self.speak, self.speak, self.dawdle, self.converse, self.interrupt, self.vanish,
            self.disconnect, self.run_out_of_time, self.misbehave,
        )  # fmt: skip

    async def run(self, dice: random.Random, until_s: float) -> None:
        """One stream after the other, until the storm is over."""
        while time.monotonic() < until_s:
            deed = dice.choice(self._deeds)
            await deed(dice)
            self.counts[deed.__name__] += 1

    async def speak(self, dice: random.Random) -> None:
        """A healthy utterance, cut at random."""
        text, seed = dice.choice(TEXTS), dice.choice(SEEDS)
        await self._check(text, seed, pieces(text, dice), pause_s=0.0)

    async def dawdle(self, dice: random.Random) -> None:
        """A healthy utterance, read slowly."""
        text, seed = dice.choice(TEXTS), dice.choice(SEEDS)
        await self._check(text, seed, pieces(text, dice), pause_s=dice.random() * 0.1)

    async def converse(self, dice: random.Random) -> None:
        """Several healthy utterances on one stream, the middle one interrupted."""
        text, seed = dice.choice(TEXTS), dice.choice(SEEDS)
        async with self._client.converse(fast(seed)) as conversation:
            await conversation.send_text(text)
            await conversation.end_utterance()
            await conversation.send_text(dice.choice(TEXTS))
            events = aiter(conversation)
            first = b""
            while not isinstance(event := await anext(events), Finished):
                first += event.audio if isinstance(event, AudioChunk) else b""
            await conversation.cancel()
            while not isinstance(await anext(events), Cancelled):
                pass
            await conversation.send_text(text)
            await conversation.finish()
            last = b"".join([event.audio async for event in events if isinstance(event, AudioChunk)])
        assert self._alone[text, seed] == hashlib.sha256(first).digest() == hashlib.sha256(last).digest()

    async def interrupt(self, dice: random.Random) -> None:
        """Barge-in after a few chunks, or before the first."""
        speech = self._client.speak(dice.choice(TEXTS), fast(dice.choice(SEEDS)))
        patience = dice.randrange(4)
        async for _ in speech:
            patience -= 1
            if patience < 0:
                await speech.cancel()
        assert speech.cancelled or speech.finished

    async def vanish(self, dice: random.Random) -> None:
        """The call is closed somewhere in the middle."""
        conversation = self._client.converse(fast(1))
        for piece in pieces(dice.choice(TEXTS), dice):
            await conversation.send_text(piece)
        await asyncio.sleep(dice.random() * 0.2)
        conversation.close()

    async def disconnect(self, dice: random.Random) -> None:
        """The connection is closed somewhere in the middle."""
        async with AsyncClient(self._target) as client:
            conversation = client.converse(fast(1))
            await conversation.send_text(dice.choice(TEXTS))
            await asyncio.sleep(dice.random() * 0.2)

    async def run_out_of_time(self, dice: random.Random) -> None:
        """A deadline that comes too soon, mostly."""
        speech = self._client.speak(
            dice.choice(TEXTS), SpeechOptions(max_queue_wait_s=60), timeout_s=dice.random() * 0.3
        )
        try:
            async for _ in speech:
                pass
        except (DeadlineError, ServerBusyError):
            return

    async def misbehave(self, dice: random.Random) -> None:
        """A request that is refused."""
        wrong = (SpeechOptions(voice="x"), SpeechOptions(temperature=float("nan")), SpeechOptions(sample_rate_hz=1))
        with pytest.raises(RequestError):
            async for _ in self._client.speak(dice.choice(TEXTS), dice.choice(wrong)):
                pass

    async def _check(self, text: str, seed: int, cut: list[str], pause_s: float) -> None:
        speech = self._client.speak(cut, fast(seed))
        audio = hashlib.sha256()
        async for chunk in speech:
            audio.update(chunk.audio)
            await asyncio.sleep(pause_s)
        assert text.rstrip() == "".join(segment.text for segment in speech.segments).rstrip()
        assert self._alone[text, seed] == audio.digest()


async def solo(client: AsyncClient, text: str, seed: int) -> bytes:
    """How an utterance sounds alone."""
    audio = hashlib.sha256()
    async for chunk in client.speak(text, fast(seed)):
        audio.update(chunk.audio)
    return audio.digest()


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_nothing_is_lost_in_a_storm(app: App, client: AsyncClient) -> None:
    """A minute of thirty-two random streams: no slot leaks, no word is lost, every healthy stream is right."""
    alone = {(text, seed): await solo(client, text, seed) for text in TEXTS for seed in SEEDS}
    storm = Storm(f"127.0.0.1:{app.port}", client, alone)
    until_s = time.monotonic() + DURATION_S
    async with asyncio.TaskGroup() as tasks:
        for number in range(STREAM_COUNT):
            tasks.create_task(storm.run(random.Random(number), until_s))
        tasks.create_task(hold_a_stream_unread(app, until_s))

    assert 8 == len(storm.counts)
    await idle(app, timeout_s=5.0)
    assert 0 == gauge(app, "tts_queue_depth")


async def hold_a_stream_unread(app: App, until_s: float) -> None:
    """A client that never reads, beside all the others; it is cut off at the end."""
    async with aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        call = TextToSpeechServiceStub(channel).Synthesize()
        await call.write(messages.SynthesizeRequest(config=synthesis_pb2.SynthesisConfig(seed=1)))
        await call.write(messages.SynthesizeRequest(text=TEXTS[1] * 100))
        await asyncio.sleep(until_s - time.monotonic())
        call.cancel()
    assert grpc.StatusCode.CANCELLED == await call.code()
