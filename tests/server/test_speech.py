"""One utterance as its caller sees it: text in by any pieces, events out, cancel and flush at any time."""

import asyncio
import math
import threading

import numpy as np
import pytest

from server.config import SchedulingSettings
from server.errors import (
    InternalError,
    OutOfOrderError,
    TextTooLongError,
)
from server.speech import Speech, segment_seed
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
    SAMPLE_RATE_HZ,
    ScriptedVoices,
    expected_samples,
)
from tests.server.speech_rig import FAST, TEXT, Build, read, sound, texts, words


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


async def test_a_book_in_one_message_leaves_the_loop_to_others(build: Build) -> None:
    """Text is cut as it is needed, so the event loop is never busy with one caller's text for long."""
    speech = await build(SchedulingSettings(lead_limit_s=0.3)).synthesizer.open(UtteranceConfig(seed=1))
    speech.push_text("A sentence of some words is here. " * 5000)
    speech.finish()
    events = speech.events()
    async with asyncio.timeout(10.0):
        for _ in range(3):
            await anext(events)
    left = sum(len(piece or "") for piece in speech._incoming)
    speech.close()

    assert left > 160_000


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
