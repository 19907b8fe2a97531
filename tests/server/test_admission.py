"""Places are bounded, the queue is bounded, and whoever goes away leaves nothing behind."""

import asyncio
import math

import pytest

from server.admission import Admission
from server.config import AdmissionSettings
from server.errors import DeadlineExceededError, DrainingError, QueueFullError, QueueTimeoutError, ServerFullError
from server.metrics import Metrics
from tests.fakes import FakeClock

FOREVER = math.inf


def admission(
    places: int = 2, queue: int = 2, max_load: float = 0.0, capacity: int = 0, clock: FakeClock | None = None
) -> Admission:
    """An admission with few places."""
    settings = AdmissionSettings(max_utterances=places, max_queue=queue, max_load=max_load)
    return Admission(settings, lambda load: capacity, Metrics(), clock or FakeClock())


async def enter(door: Admission, wait_s: float = 0.0, deadline_s: float = FOREVER, *, is_live: bool = True) -> None:
    """Go in, or wait for a turn."""
    await door.enter(wait_s, deadline_s, is_live=is_live)


async def test_places_are_given_up_to_the_bound() -> None:
    """The one too many is refused at once, with a time to come back."""
    door = admission(places=2)
    await enter(door)
    await enter(door)

    with pytest.raises(ServerFullError, match=r"All 2 places of this server are taken; try again in .* s\.") as refusal:
        await enter(door)
    assert 0.1 <= refusal.value.retry_after_s <= 30.0
    assert 2 == door.active_count


async def test_a_place_that_is_left_can_be_taken() -> None:
    """Leaving makes room for one."""
    door = admission(places=1)
    await enter(door)
    door.leave()
    await enter(door)

    assert 1 == door.active_count


async def test_the_queue_is_served_in_order() -> None:
    """Who waited longest gets the place that becomes free; a newcomer does not overtake."""
    door, served = admission(places=1), list[int]()

    async def visitor(number: int) -> None:
        await enter(door, 10.0)
        served.append(number)

    await enter(door)
    visitors = [asyncio.ensure_future(visitor(number)) for number in range(2)]
    await asyncio.sleep(0)
    door.leave()
    with pytest.raises(ServerFullError):
        await enter(door)
    await visitors[0]
    door.leave()
    await visitors[1]

    assert [0, 1] == served


async def test_the_queue_is_bounded() -> None:
    """When as many wait as may, the next is refused although it would wait."""
    door = admission(places=1, queue=1)
    await enter(door)
    waiting = asyncio.ensure_future(enter(door, 10.0))
    await asyncio.sleep(0)

    with pytest.raises(QueueFullError, match="1 utterances wait already"):
        await enter(door, 10.0)
    waiting.cancel()


async def test_waiting_ends_after_the_time_allowed() -> None:
    """A wait in vain ends with a refusal, and leaves the queue empty."""
    door = admission(places=1)
    await enter(door)

    with pytest.raises(QueueTimeoutError, match=r"No place became free within 0\.01 s"):
        await enter(door, 0.01)
    door.leave()
    assert 0 == door.active_count


async def test_the_deadline_ends_the_wait() -> None:
    """A deadline before the end of the patience is reported as what it is."""
    clock = FakeClock()
    door = admission(places=1, clock=clock)
    await enter(door)

    with pytest.raises(DeadlineExceededError):
        await enter(door, 10.0, clock() + 0.01)


async def test_a_passed_deadline_takes_no_place() -> None:
    """An expired call is not let in, even with places free."""
    clock = FakeClock()
    door = admission(clock=clock)

    with pytest.raises(DeadlineExceededError):
        await enter(door, 0.0, clock())
    assert 0 == door.active_count


async def test_who_goes_away_while_waiting_leaves_the_queue() -> None:
    """A cancelled wait takes no place, not even one that becomes free in the same moment."""
    door = admission(places=1)
    await enter(door)
    waiting = asyncio.ensure_future(enter(door, 10.0))
    await asyncio.sleep(0)
    door.leave()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert 0 == door.active_count
    await asyncio.wait_for(door.wait_empty(), 1.0)


async def test_draining_refuses_newcomers_and_those_who_wait() -> None:
    """From the first moment of a drain nobody gets in; those inside may finish."""
    door = admission(places=1)
    await enter(door)
    waiting = asyncio.ensure_future(enter(door, 10.0))
    await asyncio.sleep(0)
    door.drain()

    with pytest.raises(DrainingError):
        await waiting
    with pytest.raises(DrainingError) as refusal:
        await enter(door)
    assert 0.0 < refusal.value.retry_after_s
    assert 1 == door.active_count


async def test_a_drain_is_over_when_the_last_has_left() -> None:
    """Waiting for emptiness ends with the last place given back, not before."""
    door = admission()
    await enter(door)
    door.drain()
    emptied = asyncio.ensure_future(door.wait_empty())
    await asyncio.sleep(0)
    early = emptied.done()
    door.leave()
    await asyncio.wait_for(emptied, 1.0)

    assert not early


async def test_predicted_capacity_limits_places() -> None:
    """An engine that can keep up with one is not given two, whatever the number of slots."""
    door = admission(places=8, max_load=0.9, capacity=1)
    await enter(door)

    with pytest.raises(ServerFullError, match="All 1 places"):
        await enter(door)


async def test_predicted_capacity_is_for_those_who_listen() -> None:
    """Whoever writes a file takes what the engine has left, and is not refused for its speed."""
    door = admission(places=8, max_load=0.9, capacity=1)
    await enter(door)
    await enter(door, is_live=False)

    assert 2 == door.active_count


async def test_one_place_is_always_there() -> None:
    """However slow the engine looks, one utterance may try."""
    door = admission(places=8, max_load=0.9, capacity=0)
    await enter(door)

    assert 1 == door.active_count


@pytest.mark.parametrize(("stay_s", "retry_after_s"), [(5.0, 4.8), (0.0, 0.1)])
async def test_the_time_to_come_back_follows_the_traffic(stay_s: float, retry_after_s: float) -> None:
    """The faster places became free lately, the sooner a refused caller is asked to try again."""
    clock = FakeClock()
    door = admission(clock=clock)
    for _ in range(30):
        await enter(door)
        clock.advance(stay_s)
        door.leave()

    assert pytest.approx(retry_after_s, abs=0.1) == door.retry_after_s()
