"""A synthesizer on a scripted engine and front end, and readers for what it says."""

import asyncio
import math
from collections.abc import Callable

from server.config import Settings
from server.metrics import Metrics
from server.speech import Speech
from server.synthesizer import Synthesizer
from server.utterance import (
    AudioChunk,
    AudioEncoding,
    AudioFormat,
    Event,
    SegmentFinished,
    UtteranceConfig,
)
from tests.fakes import (
    ScriptedFrontend,
    ScriptedTalker,
    ScriptedVoices,
    scripted_engine,
)

FAST = UtteranceConfig(audio=AudioFormat(AudioEncoding.PCM_F32LE), seed=7, lead_limit_s=math.inf)


TEXT = "The first sentence is here. The second one follows it, and the third is the last of all. It ends."


class House:
    """A synthesizer on a scripted engine of four slots, with all that surrounds it."""

    def __init__(self, settings: Settings) -> None:
        engine = scripted_engine(4)
        assert isinstance(engine.talker, ScriptedTalker)
        self.talker = engine.talker
        self.frontend = ScriptedFrontend()
        self.metrics = Metrics()
        self.synthesizer = Synthesizer(engine, self.frontend, ScriptedVoices(), settings, self.metrics)  # type: ignore[arg-type]
        self.synthesizer.start()

    async def speak(self, text: str, config: UtteranceConfig = FAST) -> list[Event]:
        """Speak a whole text and return all events."""
        speech = await self.synthesizer.open(config)
        try:
            speech.push_text(text)
            speech.finish()
            return await read(speech)
        finally:
            speech.close()

    def value(self, name: str, **labels: str) -> float:
        """Return what a metric shows."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


Build = Callable[..., House]


async def read(speech: Speech) -> list[Event]:
    """Read a speech to its end."""
    async with asyncio.timeout(20.0):
        return [event async for event in speech.events()]


def sound(events: list[Event]) -> bytes:
    """The audio of a speech."""
    return b"".join(event.audio for event in events if isinstance(event, AudioChunk))


def texts(events: list[Event]) -> list[str]:
    """The texts of its segments."""
    return [event.text for event in events if isinstance(event, SegmentFinished)]


def words(events: list[Event]) -> list[str]:
    """The words that were told with the audio."""
    return [word.text for event in events if isinstance(event, AudioChunk) for word in event.words]
