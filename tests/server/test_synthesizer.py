"""The front door: what is asked for is checked, admitted, spoken, and cleaned up after, whoever goes away when."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from server.config import AdmissionSettings, SchedulingSettings, Settings
from server.errors import (
    DeadlineExceededError,
    DrainingError,
    InternalError,
    InvalidConfigError,
    OutOfOrderError,
    OutOfRangeError,
    ServerFullError,
    TextTooLongError,
    VoiceNotFoundError,
    WorkerStoppedError,
)
from server.metrics import Metrics
from server.speech import Speech, segment_seed
from server.synthesizer import Synthesizer
from server.utterance import (
    AudioChunk,
    AudioEncoding,
    AudioFormat,
    Cancelled,
    Event,
    Finished,
    FinishReason,
    SegmentFinished,
    Started,
    UtteranceConfig,
)
from tests.fakes import (
    FRAME_S,
    SAMPLE_RATE_HZ,
    ScriptedFrontend,
    ScriptedTalker,
    ScriptedVoices,
    expected_samples,
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


@pytest.fixture
async def build() -> AsyncIterator[Build]:
    """Build synthesizers, and stop them afterwards with every slot and every place free."""
    built: list[House] = []

    def make(scheduling: SchedulingSettings | None = None, **admission: int | float) -> House:
        settings = Settings(scheduling=scheduling or SchedulingSettings(), admission=AdmissionSettings(**admission))  # type: ignore[arg-type]
        built.append(House(settings))
        return built[-1]

    yield make
    for house in built:
        await asyncio.wait_for(house.synthesizer.drain(), 10.0)
        await house.synthesizer.stop()
        house.synthesizer.check_integrity()


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


async def test_a_text_is_spoken_from_start_to_finish(build: Build) -> None:
    """First what will be done, then the audio segment by segment, then the totals."""
    events = await build().speak(TEXT)
    finished = events[-1]

    assert Started("ida", AudioFormat(AudioEncoding.PCM_F32LE, SAMPLE_RATE_HZ), 7, {"heat": 1.0}, math.inf) == events[0]
    assert TEXT == "".join(texts(events))
    assert TEXT.replace(",", "").replace(".", "").split() == words(events)
    assert isinstance(finished, Finished)
    assert (FinishReason.COMPLETED, len(texts(events)), len(TEXT)) == (
        finished.reason,
        finished.segment_count,
        finished.character_count,
    )
    assert pytest.approx(len(sound(events)) / 4 / SAMPLE_RATE_HZ) == finished.duration_s
    assert finished.ttfa_s is not None
    assert finished.ttfa_s > 0.0


async def test_the_sound_is_that_of_the_segments_each_by_itself(build: Build) -> None:
    """Streamed audio is the offline audio of every segment, spoken with the segment's own seed."""
    house = build()
    events = await house.speak(TEXT)
    rows = [house.frontend.prepare(text, ScriptedVoices().get(""))[0].row_ids for text in texts(events)]
    offline = [expected_samples(row_ids, segment_seed(7, i)) for i, row_ids in enumerate(rows)]

    assert np.concatenate(offline).tobytes() == sound(events)


@pytest.mark.parametrize("size", [1, 3, 17])
async def test_pieces_of_text_sound_like_the_whole(build: Build, size: int) -> None:
    """A character, a word or a line at a time: the same segments, the same samples."""
    house = build()
    whole = await house.speak(TEXT)
    speech = await house.synthesizer.open(FAST)
    for start in range(0, len(TEXT), size):
        speech.push_text(TEXT[start : start + size])
        await asyncio.sleep(0)
    speech.finish()
    pieces = await read(speech)

    assert texts(whole) == texts(pieces)
    assert sound(whole) == sound(pieces)


async def test_audio_comes_while_text_is_still_written(build: Build) -> None:
    """The first sentence is heard before the last one is sent."""
    speech = await build().synthesizer.open(FAST)
    speech.push_text("This is the first sentence. And here ")
    events = speech.events()
    async with asyncio.timeout(10.0):
        heard = next(event for event in [await anext(events), await anext(events)] if isinstance(event, AudioChunk))
    speech.close()

    assert heard.audio


async def test_flush_speaks_an_unfinished_sentence(build: Build) -> None:
    """What is there is spoken, and the utterance stays open for more."""
    speech = await build().synthesizer.open(FAST)
    speech.push_text("One two")
    speech.flush()
    events, heard = speech.events(), list[Event]()
    async with asyncio.timeout(10.0):
        while not texts(heard):
            heard.append(await anext(events))
        speech.push_text(" three.")
        speech.finish()
        heard += [event async for event in events]

    assert ["One", "two", "three"] == words(heard)


async def test_cancel_stops_at_once_and_says_how_far_it_came(build: Build) -> None:
    """After a barge-in nothing but `Cancelled` comes, and the place is free."""
    house = build(SchedulingSettings(lead_limit_s=0.3))
    speech = await house.synthesizer.open(UtteranceConfig(seed=1))
    speech.push_text(TEXT)
    speech.finish()
    events = speech.events()
    async with asyncio.timeout(10.0):
        heard = [await anext(events) for _ in range(3)]
        speech.cancel()
        rest = [event async for event in events]
    (cancelled,) = rest

    assert isinstance(cancelled, Cancelled)
    assert pytest.approx(sum(event.duration_s for event in heard if isinstance(event, AudioChunk))) == cancelled.sent_s
    assert cancelled.last_word_sent
    assert words(heard)[-1] == cancelled.last_word_sent.text
    assert (0.0, 1.0) == (house.value("tts_active_streams"), house.value("tts_utterances_total", outcome="cancelled"))


async def test_cancel_before_any_text_is_answered(build: Build) -> None:
    """A caller may change its mind at any time, twice as well."""
    speech = await build().synthesizer.open(FAST)
    speech.cancel()
    speech.cancel()

    assert [Started, Cancelled] == [type(event) for event in await read(speech)]


async def test_text_after_the_end_is_refused(build: Build) -> None:
    """What comes after finish or cancel belongs to another utterance."""
    house = build()
    for end in (Speech.finish, Speech.cancel, Speech.close):
        speech = await house.synthesizer.open(FAST)
        end(speech)
        with pytest.raises(OutOfOrderError):
            speech.push_text("late")
        speech.close()


async def test_closing_frees_place_and_slot(build: Build) -> None:
    """A caller that vanishes in the middle of a word leaves nothing behind."""
    house = build(max_utterances=1)
    for _ in range(20):
        speech = await house.synthesizer.open(UtteranceConfig())
        speech.push_text(TEXT)
        await anext(speech.events())
        speech.close()
        speech.close()
    await house.speak("The last one is spoken.")

    assert 20.0 == house.value("tts_utterances_total", outcome="closed")
    assert set() == house.talker.used_slots


@pytest.mark.parametrize("text", ["", " ", "\n\n \t", "1 2 3", "...", "\N{GRINNING FACE}"])
async def test_nothing_to_speak_is_an_utterance_without_audio(build: Build, text: str) -> None:
    """Blank, punctuation, what the voice cannot say: the utterance ends as empty, with no error."""
    events = await build().speak(text)

    assert b"" == sound(events)
    assert isinstance(events[-1], Finished)
    assert (FinishReason.EMPTY, None) == (events[-1].reason, events[-1].ttfa_s)


async def test_unspoken_parts_are_told(build: Build) -> None:
    """What the front end left out is named with its segment."""
    events = await build().speak("Number 42 is left out.")
    unspoken = [part for event in events if isinstance(event, SegmentFinished) for part in event.unspoken]

    assert ["42"] == unspoken


async def test_too_much_waiting_text_is_refused(build: Build) -> None:
    """The text that waits is bounded; what is spoken makes room for more."""
    house = build(max_text_characters=100)
    speech = await house.synthesizer.open(FAST)
    speech.push_text("x" * 60)
    with pytest.raises(TextTooLongError, match="120 characters would wait to be spoken, but an utterance may hold 100"):
        speech.push_text("x" * 60)
    speech.close()


async def test_long_texts_are_prepared_a_few_segments_ahead(build: Build) -> None:
    """Preparing runs ahead of the talker by a bound, not by the length of the text."""
    house = build(SchedulingSettings(lead_limit_s=0.3), prepared_segments=2)
    prepared: list[str] = []
    house.frontend.obstacle = prepared.append
    speech = await house.synthesizer.open(UtteranceConfig(seed=1))
    speech.push_text("A sentence of some words is here. " * 50)
    speech.finish()
    events = speech.events()
    async with asyncio.timeout(10.0):
        for _ in range(3):
            await anext(events)
    speech.close()

    assert 1 <= len(prepared) <= 5


async def test_an_error_of_the_front_end_fails_its_utterance_only(build: Build) -> None:
    """Whatever goes wrong with a text, its caller is told and the others are spoken."""
    house = build()

    def stumble(text: str) -> None:
        if "stumble" in text:
            raise ValueError("a bug in the front end")

    house.frontend.obstacle = stumble
    with pytest.raises(InternalError, match="could not be prepared"):
        await house.speak("Here we stumble over a word.")

    assert sound(await house.speak("Here we do not."))


@pytest.mark.parametrize(
    ("config", "error", "field"),
    [
        (UtteranceConfig(voice_name="nobody"), VoiceNotFoundError, None),
        (
            UtteranceConfig(audio=AudioFormat(sample_rate_hz=7_999)),
            OutOfRangeError,
            "config.audio_format.sample_rate_hz",
        ),
        (UtteranceConfig(params={"cold": 1.0}), InvalidConfigError, "config.params.cold"),
        (UtteranceConfig(params={"heat": math.nan}), OutOfRangeError, "config.params.heat"),
        (UtteranceConfig(params={"heat": 11.0}), OutOfRangeError, "config.params.heat"),
        (UtteranceConfig(lead_limit_s=0.0), OutOfRangeError, "config.lead_limit_s"),
        (UtteranceConfig(lead_limit_s=math.nan), OutOfRangeError, "config.lead_limit_s"),
    ],
)
async def test_a_wrong_config_is_refused_before_admission(
    build: Build, config: UtteranceConfig, error: type[Exception], field: str | None
) -> None:
    """The sentence names the field; no place is taken."""
    house = build()
    with pytest.raises(error) as checked:
        house.synthesizer.check(config)
    with pytest.raises(error):
        await house.synthesizer.open(config)

    assert field == getattr(checked.value, "field", None)
    assert 0.0 == house.value("tts_active_streams")


async def test_a_full_server_refuses(build: Build) -> None:
    """The bound counts utterances from open to end."""
    house = build(max_utterances=1)
    speech = await house.synthesizer.open(FAST)
    with pytest.raises(ServerFullError):
        await house.synthesizer.open(FAST)
    speech.close()
    await house.speak("There is room again.")

    assert 1.0 == house.value("tts_refused_total", reason="SERVER_FULL")


async def test_who_waits_in_the_queue_is_served(build: Build) -> None:
    """A caller that asked to wait gets its place when one becomes free."""
    house = build(max_utterances=1)
    speech = await house.synthesizer.open(FAST)
    waiting = asyncio.ensure_future(
        house.speak("Hello there.", UtteranceConfig(queue_timeout_s=10.0, lead_limit_s=9.0))
    )
    await asyncio.sleep(0)
    speech.close()

    assert sound(await waiting)


async def test_the_deadline_is_kept(build: Build) -> None:
    """An utterance that cannot end in time is ended in time."""
    house = build()
    now_s = asyncio.get_running_loop().time()
    speech = await house.synthesizer.open(UtteranceConfig(deadline_s=now_s + 0.05))

    with pytest.raises(DeadlineExceededError):
        await read(speech)
    speech.close()


async def test_draining_finishes_what_runs_and_refuses_what_comes(build: Build) -> None:
    """A drain ends when the last running utterance has been made, with every word of it."""
    house = build()
    speech = await house.synthesizer.open(FAST)
    draining = asyncio.ensure_future(house.synthesizer.drain())
    await asyncio.sleep(0)
    with pytest.raises(DrainingError):
        await house.synthesizer.open(FAST)
    healthy = house.synthesizer.is_healthy
    speech.push_text(TEXT)
    speech.finish()
    events = await read(speech)
    await asyncio.wait_for(draining, 10.0)

    assert TEXT == "".join(texts(events))
    assert not healthy


async def test_a_stopped_worker_takes_nothing(build: Build) -> None:
    """Without its model thread the server says so instead of keeping callers waiting."""
    house = build()
    await house.synthesizer.stop()

    assert not house.synthesizer.is_healthy
    with pytest.raises(WorkerStoppedError):
        await house.synthesizer.open(FAST)


async def test_a_server_draws_a_seed_and_tells_it(build: Build) -> None:
    """Without a seed every utterance is different, and the one that was drawn repeats it."""
    house = build()
    first = await house.speak(TEXT, UtteranceConfig(lead_limit_s=math.inf))
    second = await house.speak(TEXT, UtteranceConfig(lead_limit_s=math.inf))
    started = first[0]
    assert isinstance(started, Started)
    again = await house.speak(TEXT, UtteranceConfig(lead_limit_s=math.inf, seed=started.seed))

    assert sound(first) != sound(second)
    assert sound(first) == sound(again)


async def test_a_slow_reader_is_held_and_a_fast_one_beside_it_is_not(build: Build) -> None:
    """Audio made for a reader that has stopped is bounded; the neighbour gets everything meanwhile."""
    house = build(SchedulingSettings(lead_limit_s=0.5))
    slow = await house.synthesizer.open(FAST)
    slow.push_text("A long text that nobody reads at all goes on. " * 20)
    slow.finish()
    await anext(slow.events())
    neighbour = await house.speak(TEXT)
    made = sum(batch.count(0) for batch in house.talker.batches)
    slow.close()

    assert TEXT == "".join(texts(neighbour))
    assert made * FRAME_S <= 0.5 + 3 * FRAME_S


async def test_lead_is_shared_by_utterances_on_one_stream(build: Build) -> None:
    """What is left to play of one utterance delays the audio of the next."""
    house = build()
    first = await house.synthesizer.open(FAST)
    first.push_text(TEXT)
    first.finish()
    await read(first)
    lead_s = first.lead_s
    first.close()
    speech = await house.synthesizer.open(UtteranceConfig(seed=7, lead_s=lead_s, lead_limit_s=0.5))
    speech.push_text("Wait for it.")
    speech.finish()
    events = speech.events()
    await anext(events)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(events), 0.05)
    speech.close()

    assert lead_s > 1.0


async def test_metrics_tell_what_was_spoken(build: Build) -> None:
    """Text in, audio out, first audio, outcome: all counted once."""
    house = build()
    events = await house.speak(TEXT)

    assert float(len(TEXT)) == house.value("tts_characters_total")
    assert pytest.approx(len(sound(events)) / 4 / SAMPLE_RATE_HZ) == house.value("tts_audio_seconds_total")
    assert 1.0 == house.value("tts_time_to_first_audio_seconds_count")
    assert 1.0 == house.value("tts_time_to_first_audible_seconds_count")
    assert 1.0 == house.value("tts_queue_wait_seconds_count")
    assert 1.0 == house.value("tts_utterances_total", outcome="completed")


async def test_preparing_does_not_block_the_event_loop(build: Build) -> None:
    """While a text is prepared the loop serves others."""
    house = build()
    gate = threading.Event()
    house.frontend.obstacle = lambda text: gate.wait(10.0) and None
    speaking = asyncio.ensure_future(house.speak("Hello there."))
    for _ in range(100):
        await asyncio.sleep(0)
    gate.set()

    assert sound(await speaking)


def test_seeds_of_segments_are_apart() -> None:
    """Every segment has a seed of its own, fixed by the utterance's seed and its place."""
    seeds = {segment_seed(seed, index) for seed in range(50) for index in range(50)}

    assert 2500 == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert 859186594 == segment_seed(7, 0)
