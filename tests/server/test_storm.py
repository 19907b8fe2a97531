"""On a real engine: a storm of utterances that join, leave, stop reading and vanish, each healthy one as if alone."""

import asyncio
import contextlib
import math
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.config import AdmissionSettings, SchedulingSettings, Settings
from server.frontend import load_frontend
from server.metrics import Metrics
from server.speech import Speech
from server.synthesizer import Synthesizer
from server.utterance import AudioChunk, Cancelled, Event, Finished, SegmentFinished, UtteranceConfig
from server.voices import VoiceCatalogue
from tests.server.speech_rig import read, sound, texts, words
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

SLOT_COUNT = 8
TEXTS = (
    "A quick word.",
    "The kettle sings. Somebody has put it on again, and nobody will say who.",
    "Numbers like 42 and signs like & are spoken too. So are dates: May 3rd.",
    "One sentence that is somewhat longer than the others, with a clause, and with another one at its end.",
)


@pytest.fixture
def policies() -> tuple[SchedulingSettings, ...]:
    """Policies that differ in everything that must not be heard."""
    return (
        SchedulingSettings(),
        SchedulingSettings(chunk_growth=1.0, vocode_budget_s=0.0, prefill_budget_s=0.0, comfort_lead_s=0.0),
        SchedulingSettings(chunk_growth=8.0, lead_limit_s=0.3, max_batch_rows=3, ttfa_target_s=0.01),
    )


async def synthesizer_on(bundle_dir: Path, scheduling: SchedulingSettings) -> AsyncIterator[Synthesizer]:
    """Yield a running synthesizer once, and stop it with every slot and place free."""
    engine = load_engine(bundle_dir, EngineOptions(SLOT_COUNT, threads=2))
    frontend, voices = load_frontend(bundle_dir, engine.manifest), VoiceCatalogue(bundle_dir, engine.manifest)
    settings = Settings(scheduling=scheduling, admission=AdmissionSettings(max_utterances=2 * SLOT_COUNT))
    synthesizer = Synthesizer(engine, frontend, voices, settings, Metrics())
    synthesizer.start()
    yield synthesizer
    await asyncio.wait_for(synthesizer.drain(), 30.0)
    await synthesizer.stop()
    synthesizer.check_integrity()
    engine.close()


def config(seed: int) -> UtteranceConfig:
    """As fast as it is made."""
    return UtteranceConfig(seed=seed, lead_limit_s=math.inf, queue_timeout_s=60.0)


async def speak(synthesizer: Synthesizer, text: str, seed: int, piece: int = 1000) -> list[Event]:
    """Speak a text, sent in pieces."""
    speech = await synthesizer.open(config(seed))
    try:
        for start in range(0, len(text), piece):
            speech.push_text(text[start : start + piece])
            await asyncio.sleep(0)
        speech.finish()
        return await read(speech)
    finally:
        speech.close()


async def misbehave(synthesizer: Synthesizer, text: str, chance: random.Random) -> None:
    """Open an utterance and leave it in one of the ways that callers do."""
    speech = await synthesizer.open(config(chance.randrange(100)))
    try:
        speech.push_text(text)
        if chance.random() < 0.7:
            speech.finish()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(chance.random() * 0.3):
                async for _ in speech.events():
                    await asyncio.sleep(chance.random() * 0.05)
        if chance.random() < 0.5:
            await _cancel(speech)
    finally:
        speech.close()


async def _cancel(speech: Speech) -> None:
    speech.cancel()
    rest = [event async for event in speech.events()][1:]
    assert all(isinstance(event, Cancelled | Finished) for event in rest)
    assert len(rest) <= 1


async def storm(synthesizer: Synthesizer, chance: random.Random) -> None:
    """Speak each text alone, then many at once among callers that misbehave, and compare."""
    alone = {(text, seed): await speak(synthesizer, text, seed) for text in TEXTS for seed in range(2)}

    async def healthy(text: str, seed: int) -> None:
        await asyncio.sleep(chance.random() * 0.5)
        events = await speak(synthesizer, text, seed, piece=chance.choice([1, 7, 1000]))
        assert sound(alone[text, seed]) == sound(events)
        assert words(alone[text, seed]) == words(events)
        assert texts(alone[text, seed]) == texts(events)

    async def rude(text: str) -> None:
        await asyncio.sleep(chance.random() * 0.5)
        await misbehave(synthesizer, text, chance)

    async with asyncio.TaskGroup() as tasks:
        for number in range(24):
            tasks.create_task(healthy(TEXTS[number % len(TEXTS)], number % 2))
            tasks.create_task(rude(TEXTS[(number * 3) % len(TEXTS)]))


@pytest.mark.parametrize("policy", range(3))
async def test_every_healthy_utterance_sounds_as_if_alone(
    tiny_bundle: Path, policies: tuple[SchedulingSettings, ...], policy: int
) -> None:
    """Among dozens that come and go, under any policy, samples, words and segments are those of the solo run."""
    async for synthesizer in synthesizer_on(tiny_bundle, policies[policy]):
        await storm(synthesizer, random.Random(policy))


async def test_policies_change_when_audio_comes_not_what_it_is(
    tiny_bundle: Path, policies: tuple[SchedulingSettings, ...]
) -> None:
    """The same text and seed give the same samples under every policy, cut into different chunks."""
    sounds, chunk_counts = set(), set()
    for policy in policies:
        async for synthesizer in synthesizer_on(tiny_bundle, policy):
            events = await speak(synthesizer, TEXTS[1], seed=3)
            sounds.add(sound(events))
            chunk_counts.add(sum(isinstance(event, AudioChunk) for event in events))

    assert 1 == len(sounds)
    assert len(chunk_counts) > 1


async def test_word_times_lie_within_their_chunks(tiny_bundle: Path) -> None:
    """A word is told with the chunk in which it begins to sound, in the order of the text."""
    async for synthesizer in synthesizer_on(tiny_bundle, SchedulingSettings()):
        events = await speak(synthesizer, TEXTS[3], seed=1)
        chunks = [event for event in events if isinstance(event, AudioChunk)]
        ends = [event for event in events if isinstance(event, SegmentFinished)]

        assert all(
            chunk.offset_s - 1e-6 <= word.start_s < chunk.offset_s + chunk.duration_s
            for chunk in chunks
            for word in chunk.words
        )
        assert pytest.approx(ends[-1].start_s + ends[-1].duration_s) == chunks[-1].offset_s + chunks[-1].duration_s
        assert TEXTS[3].replace(",", "").rstrip(".").split() == words(events)
