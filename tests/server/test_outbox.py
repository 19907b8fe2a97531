"""Events leave an outbox in order, and audio no faster than its listener plays it."""

import asyncio
import threading

import pytest

from server.errors import AntiphonError, EngineFailedError
from server.outbox import Outbox, deliver
from server.utterance import AudioChunk, Cancelled, Event, Finished, FinishReason, WordTiming
from tests.fakes import FakeClock

END = Finished(FinishReason.COMPLETED, 1.0, 1, 0, None)


class OutboxRig:
    """An outbox on a clock that stands still, and what it told its surroundings."""

    def __init__(self, lead_limit_s: float = 1.0, lead_s: float = 0.0) -> None:
        self.clock = FakeClock()
        self.taken_count = 0
        self.seen: list[Event | AntiphonError] = []
        self.outbox = Outbox(lead_limit_s, lead_s, self.clock, self._note_taken, self.seen.append)

    def _note_taken(self) -> None:
        self.taken_count += 1


def chunk(duration_s: float = 0.4, offset_s: float = 0.0, word: str = "") -> AudioChunk:
    """A chunk, perhaps with a word at its start."""
    words = (WordTiming(word, offset_s, 0, len(word), 0),) if word else ()
    return AudioChunk(b"\0\0", offset_s, duration_s, 0, words)


async def is_waiting(outbox: Outbox) -> bool:
    """Whether a reader would have to wait now."""
    reader = asyncio.ensure_future(outbox.take())
    await asyncio.sleep(0)
    reader.cancel()
    return not reader.done()


async def test_events_leave_in_order() -> None:
    """First in, first out; after the terminal event there is nothing."""
    rig = OutboxRig()
    first, second = chunk(), chunk(offset_s=0.4)
    for event in (first, second, END):
        rig.outbox.put(event)

    assert [first, second, END, None] == [await rig.outbox.take() for _ in range(4)]


async def test_a_reader_waits_for_an_event() -> None:
    """A reader that comes early is woken by the first event."""
    rig = OutboxRig()
    reader = asyncio.ensure_future(rig.outbox.take())
    await asyncio.sleep(0)
    rig.outbox.put(END)

    assert END == await reader


async def test_audio_waits_for_the_playback_clock() -> None:
    """A chunk that would exceed the lead limit is kept until enough has been played."""
    rig = OutboxRig(lead_limit_s=1.0)
    for i in range(3):
        rig.outbox.put(chunk(0.4, 0.4 * i))
    await rig.outbox.take()
    await rig.outbox.take()
    early = await is_waiting(rig.outbox)
    rig.clock.advance(0.25)

    assert early
    assert not await is_waiting(rig.outbox)


async def test_the_wait_is_as_long_as_the_lead_is_too_large() -> None:
    """A reader that waits for the clock is woken by time alone, with no event and no polling."""
    rig = OutboxRig(lead_limit_s=0.4)
    rig.outbox.put(chunk(0.4))
    rig.outbox.put(chunk(0.02, 0.4))
    await rig.outbox.take()
    reader = asyncio.ensure_future(rig.outbox.take())
    await asyncio.sleep(0)
    rig.clock.advance(0.021)

    assert chunk(0.02, 0.4) == await asyncio.wait_for(reader, 5.0)


async def test_a_chunk_longer_than_the_limit_goes_out_when_nothing_is_left() -> None:
    """The limit never stops an utterance for good."""
    rig = OutboxRig(lead_limit_s=0.1)
    rig.outbox.put(chunk(0.4))
    rig.outbox.put(chunk(0.4, 0.4))
    await rig.outbox.take()
    early = await is_waiting(rig.outbox)
    rig.clock.advance(0.4)

    assert early
    assert chunk(0.4, 0.4) == await rig.outbox.take()


async def test_no_limit_hands_out_everything() -> None:
    """A caller that wants a file gets it as it is made."""
    rig = OutboxRig(lead_limit_s=float("inf"))
    chunks = [chunk(2.0, 2.0 * i) for i in range(50)]
    for each in chunks:
        rig.outbox.put(each)

    assert chunks == [await rig.outbox.take() for _ in chunks]


async def test_audio_of_the_utterance_before_counts() -> None:
    """Utterances that follow each other on a stream share one lead limit."""
    rig = OutboxRig(lead_limit_s=1.0, lead_s=0.9)
    rig.outbox.put(chunk(0.4))
    early = await is_waiting(rig.outbox)
    rig.clock.advance(0.31)

    assert early
    assert chunk(0.4) == await rig.outbox.take()


async def test_audio_taken_is_counted_and_told() -> None:
    """The scheduler sees how far the reader is, and is told to look."""
    rig = OutboxRig(lead_limit_s=float("inf"))
    for i in range(3):
        rig.outbox.put(chunk(0.4, 0.4 * i))
    for _ in range(2):
        await rig.outbox.take()

    assert pytest.approx(0.8) == rig.outbox.taken_s
    assert 2 == rig.taken_count


async def test_cancel_drops_what_is_pending_and_reports_what_was_sent() -> None:
    """After a cancel nothing but `Cancelled` comes, with the sound and the words that went out and were heard."""
    rig = OutboxRig(lead_limit_s=1.0)
    for i, word in enumerate(("one", "two", "three")):
        rig.outbox.put(chunk(0.4, 0.4 * i, word))
    await rig.outbox.take()
    await rig.outbox.take()
    rig.clock.advance(0.1)
    rig.outbox.cancel()
    rig.outbox.put(chunk(0.4, 1.2, "late"))
    cancelled = await rig.outbox.take()

    assert isinstance(cancelled, Cancelled)
    assert (pytest.approx(0.8), pytest.approx(0.1)) == (cancelled.sent_s, cancelled.played_s)
    assert cancelled.last_word_sent
    assert cancelled.last_word_played
    assert ("two", "one") == (cancelled.last_word_sent.text, cancelled.last_word_played.text)
    assert await rig.outbox.take() is None


async def test_cancel_before_any_audio_reports_nothing_sent() -> None:
    """A barge-in can come before the first sound."""
    rig = OutboxRig()
    rig.outbox.cancel()

    assert Cancelled(0.0, 0.0, None, None) == await rig.outbox.take()


async def test_cancel_overtakes_an_end_that_was_not_read() -> None:
    """As long as the listener has not been sent everything, a cancel means what it says."""
    rig = OutboxRig()
    rig.outbox.put(chunk())
    rig.outbox.put(END)
    rig.outbox.cancel()

    assert isinstance(await rig.outbox.take(), Cancelled)


async def test_cancel_after_the_end_does_nothing() -> None:
    """What is over cannot be cancelled."""
    rig = OutboxRig()
    rig.outbox.put(END)
    await rig.outbox.take()
    rig.outbox.cancel()

    assert await rig.outbox.take() is None


async def test_an_error_is_raised_after_what_came_before_it() -> None:
    """Audio that was made is not lost to an error that came later."""
    rig = OutboxRig()
    rig.outbox.put(chunk())
    rig.outbox.put(EngineFailedError("The voice failed."))

    assert chunk() == await rig.outbox.take()
    with pytest.raises(EngineFailedError, match=r"The voice failed\."):
        await rig.outbox.take()
    assert await rig.outbox.take() is None


async def test_nothing_follows_a_terminal_event() -> None:
    """A late chunk cannot bring an utterance back to life."""
    rig = OutboxRig()
    rig.outbox.put(END)
    rig.outbox.put(chunk())

    assert [END] == rig.seen
    assert [END, None] == [await rig.outbox.take() for _ in range(2)]


async def test_close_lets_a_waiting_reader_go() -> None:
    """Whoever waits when the stream is given up gets None, not a hang."""
    rig = OutboxRig()
    reader = asyncio.ensure_future(rig.outbox.take())
    await asyncio.sleep(0)
    rig.outbox.close()

    assert await reader is None


async def test_threads_deliver_in_order() -> None:
    """A batch from another thread arrives whole, in order, and wakes the reader."""
    rig = OutboxRig(lead_limit_s=float("inf"))
    events = [*(chunk(0.4, 0.4 * i) for i in range(5)), END]
    loop = asyncio.get_running_loop()
    thread = threading.Thread(target=deliver, args=(loop, [(rig.outbox, event) for event in events]))
    thread.start()
    received = [await rig.outbox.take() for _ in events]
    thread.join()

    assert events == received
