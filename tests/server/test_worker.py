"""The model thread: what it speaks is right, who fails fails alone, and nothing waits for a thread that is gone."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from server.chunker import Chunker
from server.config import AdmissionSettings, SchedulingSettings, Settings
from server.errors import (
    AntiphonError,
    DeadlineExceededError,
    EngineFailedError,
    ReaderStalledError,
    WorkerStoppedError,
)
from server.metrics import Metrics
from server.model_runner import Script
from server.outbox import Outbox
from server.prepared_segment import PreparedSegment, WordSpan
from server.progress import Ramp, UtteranceProgress
from server.utterance import (
    AudioChunk,
    AudioEncoding,
    AudioFormat,
    Event,
    Finished,
    FinishReason,
    Segment,
    SegmentFinished,
    SegmentId,
    UtteranceId,
)
from server.worker import Worker
from tests.fakes import (
    FRAME_S,
    LOOKAHEAD_FRAMES,
    SAMPLE_RATE_HZ,
    SAMPLES_PER_FRAME,
    ScriptedTalker,
    ScriptedVocoder,
    expected_samples,
    rows,
    scripted_engine,
)

RAMP = Ramp(2, 8, 2.0, FRAME_S, LOOKAHEAD_FRAMES)
WORDS = (WordSpan("one", 0, 2, 0, 3), WordSpan("two", 2, 4, 4, 7))


class WorkerRig:
    """A worker on a scripted engine of four slots."""

    def __init__(self, settings: Settings) -> None:
        self.engine = scripted_engine(4)
        assert isinstance(self.engine.talker, ScriptedTalker)
        assert isinstance(self.engine.vocoder, ScriptedVocoder)
        self.talker, self.vocoder = self.engine.talker, self.engine.vocoder
        self.metrics = Metrics()
        self.worker = Worker(self.engine, settings, self.metrics, asyncio.get_running_loop())
        self.segment_count = 0

    def open(self, number: int, lead_limit_s: float = float("inf"), deadline_s: float = float("inf")) -> Outbox:
        """Open an utterance that is handed out as fast as it is made."""
        outbox = Outbox(lead_limit_s, 0.0, time.monotonic, self.worker.wake, lambda event: None)
        chunker = Chunker(AudioFormat(AudioEncoding.PCM_F32LE, SAMPLE_RATE_HZ), SAMPLE_RATE_HZ, SAMPLES_PER_FRAME)
        self.worker.open(UtteranceProgress(UtteranceId(number), RAMP, lead_limit_s, deadline_s), outbox, chunker)
        return outbox

    def say(self, number: int, row_count: int = 8, first: int = 1, seed: int = 5, max_frames: int = 300) -> None:
        """Add a segment to an utterance."""
        prepared = PreparedSegment("one two", rows(row_count, first), WORDS, ("7",), max_frames)
        segment = Segment(SegmentId(self.segment_count), UtteranceId(number), 0, row_count, max_frames)
        self.segment_count += 1
        self.worker.say(Script(segment, prepared, (1.0,), seed))

    def speak(self, number: int, **prompt: Any) -> Outbox:
        """Open an utterance of one segment."""
        outbox = self.open(number)
        self.say(number, **prompt)
        self.worker.end_text(UtteranceId(number))
        return outbox

    def value(self, name: str, **labels: str) -> float:
        """Return what a metric shows."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
async def make_rig() -> AsyncIterator[Callable[..., WorkerRig]]:
    """Make running workers, and stop them afterwards with every slot free."""
    made: list[WorkerRig] = []

    def make(scheduling: SchedulingSettings | None = None, stall_timeout_s: float = 60.0) -> WorkerRig:
        admission = AdmissionSettings(stall_timeout_s=stall_timeout_s)
        rig = WorkerRig(Settings(scheduling=scheduling or SchedulingSettings(), admission=admission))
        rig.worker.start()
        made.append(rig)
        return rig

    yield make
    for rig in made:
        await asyncio.to_thread(rig.worker.stop)
        rig.worker.check_integrity()


async def read(outbox: Outbox) -> list[Event]:
    """Read an utterance to its end."""
    events = []
    while (event := await asyncio.wait_for(outbox.take(), 20.0)) is not None:
        events.append(event)
    return events


async def read_audio(outbox: Outbox) -> bytes:
    """Read the sound of an utterance."""
    return b"".join(event.audio for event in await read(outbox) if isinstance(event, AudioChunk))


async def wait_until(condition: Callable[[], bool]) -> None:
    """Let the event loop run until something is true; the test's own timeout ends a wait in vain."""
    while not condition():  # noqa: ASYNC110 - what is waited for happens on a thread that knows no event
        await asyncio.sleep(0.001)


async def test_streamed_audio_is_the_offline_audio(make_rig: Callable[..., WorkerRig]) -> None:
    """Chunk by chunk comes exactly what the engine makes of the whole."""
    rig = make_rig()

    assert expected_samples(rows(8), 5).tobytes() == await read_audio(rig.speak(0))


async def test_events_tell_the_whole_story(make_rig: Callable[..., WorkerRig]) -> None:
    """Audio with words, then the end of the segment, then the end of the utterance."""
    events = await read(make_rig().speak(0))
    words = [(word.text, word.start_s) for event in events if isinstance(event, AudioChunk) for word in event.words]
    finished = SegmentFinished(0, "one two", 0.0, 16 * FRAME_S, FinishReason.COMPLETED, ("7",))

    assert [("one", 0.0), ("two", pytest.approx(4 * FRAME_S))] == words
    assert finished == events[-2]
    assert Finished(FinishReason.COMPLETED, pytest.approx(16 * FRAME_S), 1, 0, None) == events[-1]


@pytest.mark.parametrize("growth", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("largest_frames", [1, 3, 64])
async def test_any_ramp_gives_the_same_samples(
    make_rig: Callable[..., WorkerRig], growth: float, largest_frames: int
) -> None:
    """How chunks grow changes when audio comes, never what it is."""
    rig = make_rig(SchedulingSettings(chunk_growth=growth, max_vocode_frames=largest_frames))

    assert expected_samples(rows(20), 5).tobytes() == await read_audio(rig.speak(0, row_count=20))


async def test_neighbours_change_nothing(make_rig: Callable[..., WorkerRig]) -> None:
    """Utterances that share steps each sound as if they were alone."""
    rig = make_rig()
    outboxes = [rig.speak(n, row_count=6 + 2 * n, first=1 + n, seed=n) for n in range(9)]
    sounds = await asyncio.gather(*(read_audio(outbox) for outbox in outboxes))

    assert [expected_samples(rows(6 + 2 * n, 1 + n), n).tobytes() for n in range(9)] == sounds
    assert max(map(len, rig.talker.batches)) > 1


async def test_segments_follow_each_other_without_a_seam(make_rig: Callable[..., WorkerRig]) -> None:
    """Several segments are one sound, the second beginning where the first ends."""
    rig = make_rig()
    outbox = rig.open(0)
    for i in range(3):
        rig.say(0, first=1 + i, seed=i)
    rig.worker.end_text(UtteranceId(0))
    events = await read(outbox)
    audio = b"".join(event.audio for event in events if isinstance(event, AudioChunk))
    starts = [event.start_s for event in events if isinstance(event, SegmentFinished)]

    assert b"".join(expected_samples(rows(8, 1 + i), i).tobytes() for i in range(3)) == audio
    assert pytest.approx([0.0, 16 * FRAME_S, 32 * FRAME_S]) == starts


async def test_an_empty_segment_ends_where_it_stands(make_rig: Callable[..., WorkerRig]) -> None:
    """A segment with nothing to speak has no length and does not disturb the books."""
    rig = make_rig()
    outbox = rig.open(0)
    rig.say(0)
    rig.say(0, row_count=0)
    rig.worker.end_text(UtteranceId(0))
    ends = [event for event in await read(outbox) if isinstance(event, SegmentFinished)]

    assert [(0.0, FinishReason.COMPLETED), (pytest.approx(16 * FRAME_S), FinishReason.EMPTY)] == [
        (end.start_s, end.reason) for end in ends
    ]
    assert 0.0 == ends[1].duration_s


async def test_a_reader_that_stops_is_held_and_the_others_go_on(make_rig: Callable[..., WorkerRig]) -> None:
    """For a reader that has stopped, no more than the limit is made; its neighbour hears all of its own."""
    rig = make_rig(SchedulingSettings(lead_limit_s=0.5))
    stopped = rig.open(0)
    rig.say(0, row_count=100)
    rig.worker.end_text(UtteranceId(0))
    neighbour = await read_audio(rig.speak(1, row_count=40, first=3))
    frames_made = sum(batch.count(0) for batch in rig.talker.batches)
    audio = await read_audio(stopped)

    assert expected_samples(rows(40, 3), 5).tobytes() == neighbour
    assert 0.5 <= (frames_made - LOOKAHEAD_FRAMES) * FRAME_S <= 0.5 + FRAME_S
    assert expected_samples(rows(100), 5).tobytes() == audio


async def test_a_reader_that_stays_away_loses_its_place(make_rig: Callable[..., WorkerRig]) -> None:
    """After the stall timeout the utterance is ended, and its reader learns why when it comes back."""
    rig = make_rig(SchedulingSettings(lead_limit_s=0.1), stall_timeout_s=0.1)
    outbox = rig.open(0)
    rig.say(0, row_count=100)

    await wait_until(lambda: bool(rig.talker.batches) and not rig.talker.used_slots)

    with pytest.raises(ReaderStalledError):
        await read(outbox)


async def test_cancel_frees_the_slot_by_the_next_step(make_rig: Callable[..., WorkerRig]) -> None:
    """The step that runs when a cancel comes is the last that the utterance takes part in."""
    rig = make_rig()
    entered, gate = threading.Event(), threading.Event()

    def wait(slots: list[int]) -> None:
        entered.set()
        gate.wait(10.0)

    rig.talker.obstacle = wait
    rig.open(0)
    rig.say(0, row_count=100)
    await asyncio.to_thread(entered.wait)
    rig.worker.cancel(UtteranceId(0))
    other = rig.speak(1)
    gate.set()
    await read(other)

    assert [0] == rig.talker.batches[0]
    assert all(len(batch) == 1 for batch in rig.talker.batches)


async def test_the_deadline_ends_an_utterance(make_rig: Callable[..., WorkerRig]) -> None:
    """At its deadline an utterance ends, also when it only waits for text."""
    rig = make_rig()
    outbox = rig.open(0, deadline_s=time.monotonic() + 0.05)

    with pytest.raises(DeadlineExceededError):
        await read(outbox)


async def test_a_failed_row_fails_its_utterance_only(make_rig: Callable[..., WorkerRig]) -> None:
    """The engine's error for one slot reaches one reader."""
    rig = make_rig()
    rig.talker.failing.add(0)
    failed, healthy = rig.speak(0), rig.speak(1, first=3)

    with pytest.raises(EngineFailedError):
        await read(failed)
    rig.talker.failing.clear()
    assert expected_samples(rows(8, 3), 5).tobytes() == await read_audio(healthy)


async def test_a_failed_item_of_the_vocoder_fails_its_utterance_only(make_rig: Callable[..., WorkerRig]) -> None:
    """The same for the vocoder."""
    rig = make_rig()
    rig.vocoder.failing.add(0)
    failed, healthy = rig.speak(0), rig.speak(1, first=3)

    with pytest.raises(EngineFailedError):
        await read(failed)
    rig.vocoder.failing.clear()
    assert expected_samples(rows(8, 3), 5).tobytes() == await read_audio(healthy)


@pytest.mark.parametrize("part", ["talker", "vocoder"])
async def test_an_engine_that_raises_fails_those_who_shared_the_call(
    make_rig: Callable[..., WorkerRig], part: str
) -> None:
    """Whatever an engine raises, the thread lives on and the next utterance is spoken."""
    rig = make_rig()
    calls = [0]

    def break_once(slots: list[int]) -> None:
        calls[0] += 1
        if calls[0] == 1:
            raise RuntimeError("the device is on fire")

    {"talker": rig.talker, "vocoder": rig.vocoder}[part].obstacle = break_once

    with pytest.raises(EngineFailedError):
        await read(rig.speak(0))
    assert expected_samples(rows(8), 5).tobytes() == await read_audio(rig.speak(1))
    assert rig.worker.is_alive


async def test_an_engine_that_keeps_raising_ends_the_thread(
    make_rig: Callable[..., WorkerRig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a few failures in a row the process should be replaced: everybody is told, now and later."""
    causes: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: causes.append(args.exc_value))
    rig = make_rig()

    def always_break(slots: list[int]) -> None:
        raise RuntimeError("the device is on fire")

    rig.talker.obstacle = always_break
    idle = rig.open(9)
    errors: list[AntiphonError] = []
    for number in range(3):
        with pytest.raises((EngineFailedError, WorkerStoppedError)) as failure:
            await read(rig.speak(number))
        errors.append(failure.value)

    with pytest.raises(WorkerStoppedError):
        await read(idle)
    with pytest.raises(WorkerStoppedError):
        await read(rig.speak(10))
    assert not rig.worker.is_alive
    await wait_until(lambda: bool(causes))
    assert ["the device is on fire"] == [str(cause) for cause in causes]
    assert [EngineFailedError, EngineFailedError, WorkerStoppedError] == [type(error) for error in errors]


async def test_stopping_tells_whoever_is_still_spoken(make_rig: Callable[..., WorkerRig]) -> None:
    """A stop in the middle of an utterance ends it with an error, not with silence."""
    rig = make_rig(SchedulingSettings(lead_limit_s=0.2))
    outbox = rig.open(0, lead_limit_s=0.2)
    rig.say(0, row_count=100)
    await outbox.take()
    await asyncio.to_thread(rig.worker.stop)

    with pytest.raises(WorkerStoppedError):
        await read(outbox)


async def test_an_idle_worker_sleeps(make_rig: Callable[..., WorkerRig]) -> None:
    """With nothing to say the model thread takes no turns at all."""
    rig = make_rig()
    await read(rig.speak(0))
    turns = [0]
    schedule = rig.worker._scheduler.schedule

    def counted(now_s: float) -> Any:
        turns[0] += 1
        return schedule(now_s)

    rig.worker._scheduler.schedule = counted  # type: ignore[method-assign]
    rig.worker.wake()
    await wait_until(lambda: turns[0] == 1)
    await asyncio.sleep(0.05)

    assert 1 == turns[0]


async def test_steps_are_counted(make_rig: Callable[..., WorkerRig]) -> None:
    """Steps, rows and slots are on the dashboard."""
    rig = make_rig()
    await read(rig.speak(0))
    await wait_until(lambda: rig.value("tts_slots_in_use") == 0.0)

    assert (4.0, 17.0, 17.0) == (
        rig.value("tts_slots"),
        rig.value("tts_step_seconds_count"),
        rig.value("tts_batch_rows_sum"),
    )
    assert 1.0 == rig.value("tts_real_time_factor_count")
    assert 0.0 == rig.value("tts_underruns_total")


async def test_an_engine_too_slow_shows_as_underruns(make_rig: Callable[..., WorkerRig]) -> None:
    """When the listener has run out before the next chunk came, it is counted and measured."""
    rig = make_rig(SchedulingSettings(ttfa_target_s=0.001))
    rig.talker.obstacle = lambda slots: threading.Event().wait(1.2 * FRAME_S) and None
    await read(rig.speak(0, row_count=6))
    await wait_until(lambda: rig.value("tts_underruns_total") > 0.0)

    assert rig.value("tts_underrun_seconds_sum") > 0.0


async def test_capacity_is_learned_from_steps(make_rig: Callable[..., WorkerRig]) -> None:
    """What the engine was measured to need says how many utterances it can keep up with."""
    rig = make_rig()
    await read(rig.speak(0, row_count=30))

    assert rig.worker.capacity(0.5) >= 1
    assert rig.worker.capacity(0.5) <= rig.worker.capacity(1.0)


def test_prompts_of_different_starts_sound_different() -> None:
    """The scripted engine would not hide a mix-up."""
    assert not np.array_equal(expected_samples(rows(8), 5), expected_samples(rows(8, 2), 5))
