"""The front door: what is asked for is checked and admitted, and cleaned up after, whoever goes away when."""

import asyncio
import math

import pytest

from server.config import SchedulingSettings
from server.errors import (
    DeadlineExceededError,
    DrainingError,
    InvalidConfigError,
    OutOfRangeError,
    ServerFullError,
    VoiceNotFoundError,
    WorkerStoppedError,
)
from server.utterance import (
    AudioFormat,
    Started,
    UtteranceConfig,
)
from tests.fakes import (
    FRAME_S,
    SAMPLE_RATE_HZ,
)
from tests.server.speech_rig import FAST, TEXT, Build, read, sound, texts


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


@pytest.mark.parametrize(
    ("config", "error", "field"),
    [
        (UtteranceConfig(voice_name="nobody"), VoiceNotFoundError, None),
        (
            UtteranceConfig(audio=AudioFormat(sample_rate_hz=7_999)),
            OutOfRangeError,
            "config.audio_format.sample_rate_hz",
        ),
        (UtteranceConfig(params={"cold": 1.0}), InvalidConfigError, "config.sampling.cold"),
        (UtteranceConfig(params={"heat": math.nan}), OutOfRangeError, "config.sampling.heat"),
        (UtteranceConfig(params={"heat": 11.0}), OutOfRangeError, "config.sampling.heat"),
        (UtteranceConfig(lead_limit_s=0.0), OutOfRangeError, "config.max_lead"),
        (UtteranceConfig(lead_limit_s=math.nan), OutOfRangeError, "config.max_lead"),
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
