"""The vocoder's thread: batches in order, chunks to their readers, failures to whoever asked."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from server.chunker import Chunker
from server.outbox import Outbox
from server.utterance import AudioChunk, AudioEncoding, AudioFormat, Segment, SegmentId, UtteranceId
from server.vocoding import VocodeTask, Vocoding
from tests.fakes import (
    FRAME_S,
    SAMPLE_RATE_HZ,
    SAMPLES_PER_FRAME,
    FakeClock,
    ScriptedVocoder,
    expected_frames,
    expected_samples,
    rows,
)
from trt_engines.base import VocodeItem

SEED = 5


@pytest.fixture
async def vocoding() -> AsyncIterator[Vocoding]:
    """A vocoder of two slots on its thread."""
    vocoding = Vocoding(ScriptedVocoder(2), SAMPLE_RATE_HZ, asyncio.get_running_loop(), FakeClock(50.0))
    yield vocoding
    await asyncio.to_thread(vocoding.stop)


def outbox() -> Outbox:
    """An outbox that hands out everything at once."""
    return Outbox(float("inf"), 0.0, FakeClock(), lambda: None, lambda event: None)


def tasks(box: Outbox, slot: int = 0, cuts: tuple[int, ...] = (3, 7, 10)) -> list[VocodeTask]:
    """A segment of five rows, ten frames, in pieces."""
    chunker = Chunker(AudioFormat(AudioEncoding.PCM_F32LE, SAMPLE_RATE_HZ), SAMPLE_RATE_HZ, SAMPLES_PER_FRAME)
    segment = Segment(SegmentId(slot), UtteranceId(slot), 0, 5, 300)
    frames, starts = expected_frames(rows(5), SEED), (0, *cuts[:-1])
    items = [
        VocodeItem(slot, frames[start:end], SEED, is_first=start == 0, is_last=end == 10)
        for start, end in zip(starts, cuts, strict=True)
    ]
    return [VocodeTask(segment, item, (), chunker, box) for item in items]


async def read(box: Outbox, count: int) -> bytes:
    """Take some chunks."""
    events = [await asyncio.wait_for(box.take(), 5.0) for _ in range(count)]
    return b"".join(event.audio for event in events if isinstance(event, AudioChunk))


async def test_batches_run_in_order_and_reach_their_reader(vocoding: Vocoding) -> None:
    """What was submitted first is heard first, and all together is the whole."""
    box = outbox()
    futures = [vocoding.submit([task]) for task in tasks(box)]
    audio = await read(box, 3)
    batches = [await asyncio.wrap_future(future) for future in futures]

    assert expected_samples(rows(5), SEED).tobytes() == audio
    assert [False, False, True] == [batch.results[0].is_last for batch in batches]
    assert pytest.approx(10 * FRAME_S) == sum(batch.results[0].duration_s for batch in batches)
    assert {50.0} == {batch.ended_s for batch in batches}


async def test_utterances_share_a_batch(vocoding: Vocoding) -> None:
    """Each reader gets its own, whoever was beside it."""
    boxes = [outbox(), outbox()]
    pieces = [tasks(box, slot, (10,)) for slot, box in enumerate(boxes)]
    batch = await asyncio.wrap_future(vocoding.submit([piece for (piece,) in pieces]))
    audio = [await read(box, 1) for box in boxes]

    assert [0, 1] == [result.segment_id for result in batch.results]
    assert [expected_samples(rows(5), SEED).tobytes()] * 2 == audio


async def test_a_failed_item_leaves_the_others(vocoding: Vocoding) -> None:
    """An error in place of samples is that item's result."""
    vocoding._vocoder.failing.add(0)  # type: ignore[attr-defined]
    boxes = [outbox(), outbox()]
    pieces = [tasks(box, slot, (10,)) for slot, box in enumerate(boxes)]
    batch = await asyncio.wrap_future(vocoding.submit([piece for (piece,) in pieces]))

    assert [True, False] == [result.failed for result in batch.results]
    assert await read(boxes[1], 1)


async def test_a_batch_that_raises_says_so_to_its_future(vocoding: Vocoding) -> None:
    """The thread lives on, and the next batch is made."""

    def burn(slots: list[int]) -> None:
        raise RuntimeError("the device is on fire")

    box = outbox()
    (task,) = tasks(box, cuts=(10,))
    vocoding._vocoder.obstacle = burn  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="on fire"):
        await asyncio.wrap_future(vocoding.submit([task]))
    vocoding._vocoder.obstacle = lambda slots: None  # type: ignore[attr-defined]
    await asyncio.wrap_future(vocoding.submit([task]))

    assert await read(box, 1)


async def test_stopping_drops_what_waits(vocoding: Vocoding) -> None:
    """The batch that runs is finished; those behind it are not begun."""
    gate, entered = threading.Event(), threading.Event()

    def wait(slots: list[int]) -> None:
        entered.set()
        gate.wait(10.0)

    vocoding._vocoder.obstacle = wait  # type: ignore[attr-defined]
    running, waiting = (vocoding.submit([task]) for task in tasks(outbox(), cuts=(5, 10)))
    await asyncio.to_thread(entered.wait)
    stopping = asyncio.ensure_future(asyncio.to_thread(vocoding.stop))
    while not waiting.cancelled():  # noqa: ASYNC110 - a future that is dropped wakes nobody
        await asyncio.sleep(0.001)
    gate.set()
    await stopping

    assert 1 == len(running.result().results)
