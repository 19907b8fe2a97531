"""Who is cancelled, late, away or struck by a failure ends alone, and nobody waits for a thread that is gone."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from server.config import SchedulingSettings
from server.errors import (
    AntiphonError,
    DeadlineExceededError,
    EngineFailedError,
    ReaderStalledError,
    WorkerStoppedError,
)
from server.utterance import (
    UtteranceId,
)
from tests.fakes import (
    expected_samples,
    rows,
)
from tests.server.worker_rig import WorkerRig, read, read_audio, wait_until


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
