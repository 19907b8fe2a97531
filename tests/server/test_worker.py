"""The model thread: what it speaks is right, whoever is beside whom, and it sleeps when there is nothing to say."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from server.config import SchedulingSettings
from server.utterance import (
    AudioChunk,
    Finished,
    FinishReason,
    SegmentFinished,
    UtteranceId,
)
from tests.fakes import (
    FRAME_S,
    LOOKAHEAD_FRAMES,
    expected_samples,
    rows,
)
from tests.server.worker_rig import WorkerRig, read, read_audio, wait_until


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
@pytest.mark.parametrize("budget_s", [0.0, 0.002, 1.0])
async def test_any_ramp_gives_the_same_samples(
    make_rig: Callable[..., WorkerRig], growth: float, budget_s: float
) -> None:
    """How chunks grow changes when audio comes, never what it is."""
    rig = make_rig(SchedulingSettings(chunk_growth=growth, vocode_budget_s=budget_s))

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
