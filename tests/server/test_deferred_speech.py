"""Utterances that take text before the server has a place for them."""

import asyncio
from typing import cast

import pytest

from antiphon.v1 import synthesis_pb2
from server.deferred_speech import DeferredSpeech
from server.errors import ServerFullError, TextTooLongError
from server.requests import stream_config
from server.speech import Speech
from server.synthesizer import Synthesizer
from server.utterance import UtteranceConfig

CONFIG = stream_config(synthesis_pb2.SynthesisConfig(seed=5))
HALF_CLOSED = synthesis_pb2.UTTERANCE_FINISH_REASON_HALF_CLOSED


class NotedSpeech:
    """Notes what is asked of it, in place of a speech."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def push_text(self, text: str) -> None:
        """Notes the text."""
        self.asked.append(text)

    def flush(self) -> None:
        """Notes it."""
        self.asked.append("[flush]")

    def finish(self) -> None:
        """Notes it."""
        self.asked.append("[finish]")

    def cancel(self) -> None:
        """Notes it."""
        self.asked.append("[cancel]")

    def close(self) -> None:
        """Notes it."""
        self.asked.append("[close]")


class Gate:
    """Gives a place when the test says so, in place of the synthesizer."""

    def __init__(self) -> None:
        self.speech = NotedSpeech()
        self.config: UtteranceConfig | None = None
        self.is_open = asyncio.Event()

    async def open(self, config: UtteranceConfig) -> Speech:
        """Waits for the test."""
        self.config = config
        await self.is_open.wait()
        return cast("Speech", self.speech)


def deferred(max_characters: int = 100) -> DeferredSpeech:
    """An utterance that nobody speaks yet."""
    return DeferredSpeech(0, CONFIG, max_characters)


async def test_what_came_early_is_caught_up_in_order() -> None:
    """Text, flush and end that came before the place are handed over as they came; what comes later goes through."""
    gate, utterance = Gate(), deferred()
    utterance.push_text("one ")
    utterance.flush()
    gate.is_open.set()
    await utterance.open(cast("Synthesizer", gate), 0.5)
    utterance.push_text("two")
    utterance.finish(HALF_CLOSED)
    utterance.close()

    assert ["one ", "[flush]", "two", "[finish]", "[close]"] == gate.speech.asked
    assert gate.config is not None
    assert (5, 0.5) == (gate.config.seed, gate.config.lead_s)
    assert HALF_CLOSED == utterance.end


async def test_a_cancel_while_waiting_gives_no_speech() -> None:
    """Who is given up before there was a place never takes it."""
    gate, utterance = Gate(), deferred()
    opening = asyncio.create_task(utterance.open(cast("Synthesizer", gate), 0.0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert utterance.is_waiting
    utterance.cancel()

    assert await opening is None
    assert await deferred_and_cancelled(gate) is None
    assert [] == gate.speech.asked


async def deferred_and_cancelled(gate: Gate) -> Speech | None:
    """What an utterance gets that was cancelled before its turn."""
    utterance = deferred()
    utterance.cancel()
    return await utterance.open(cast("Synthesizer", gate), 0.0)


async def test_a_place_granted_to_nobody_is_given_back() -> None:
    """The stream ends in the very moment in which its utterance gets a place: the place is free again."""
    gate, utterance = Gate(), deferred()
    opening = asyncio.create_task(utterance.open(cast("Synthesizer", gate), 0.0))
    await asyncio.sleep(0.01)
    gate.is_open.set()
    await asyncio.sleep(0)  # now the place is granted, and nobody has been told yet
    opening.cancel()
    await asyncio.wait([opening])
    utterance.close()
    await asyncio.sleep(0)

    assert ["[close]"] == gate.speech.asked


async def test_a_refusal_reaches_the_stream() -> None:
    """What the synthesizer raises is raised."""

    class Full(Gate):
        async def open(self, config: UtteranceConfig) -> Speech:
            raise ServerFullError("All places are taken; try again in 1 s.", 1.0)

    utterance = deferred()
    with pytest.raises(ServerFullError):
        await utterance.open(cast("Synthesizer", Full()), 0.0)
    utterance.close()


async def test_waiting_text_is_bounded() -> None:
    """More text than may wait is refused with the number and the limit."""
    utterance = deferred(max_characters=5)
    utterance.push_text("12345")

    with pytest.raises(TextTooLongError, match="6 characters of text wait to be spoken, more than 5"):
        utterance.push_text("6")
