"""The playback clock and the costs that deadlines are computed with."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.pacing import LinearCost, PlaybackClock, chunk_frames


def test_a_listener_without_audio_has_no_lead() -> None:
    """Before the first chunk there is nothing to play, and no moment at which it ends."""
    clock = PlaybackClock()

    assert (0.0, 0.0, -math.inf) == (clock.lead_s(5.0), clock.played_s(5.0), clock.end_s)


def test_lead_is_what_was_given_and_not_yet_played() -> None:
    """Playback starts with the first chunk and runs at the speed of time."""
    clock = PlaybackClock()
    clock.deliver(10.0, 0.5)
    clock.deliver(10.1, 0.5)

    assert pytest.approx(0.7) == clock.lead_s(10.3)
    assert pytest.approx(0.3) == clock.played_s(10.3)


def test_a_listener_who_ran_out_waits() -> None:
    """A chunk that comes late is played from when it comes; the silence is not made up for."""
    clock = PlaybackClock()
    clock.deliver(10.0, 0.5)
    clock.deliver(12.0, 0.5)

    assert pytest.approx(12.5) == clock.end_s
    assert pytest.approx(0.6) == clock.played_s(12.1)


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0.01, 2))))
def test_played_never_exceeds_given_and_never_shrinks(chunks: list[tuple[float, float]]) -> None:
    """Whatever comes when, a listener plays forward, and only what it has."""
    clock, now_s, played_s = PlaybackClock(), 0.0, 0.0
    for pause_s, duration_s in chunks:
        now_s += pause_s
        assert played_s - 1e-6 <= clock.played_s(now_s) <= clock.delivered_s + 1e-6
        played_s = clock.played_s(now_s)
        clock.deliver(now_s, duration_s)


def test_chunks_grow_up_to_a_limit() -> None:
    """The ramp starts small, doubles, and stops at the longest chunk."""
    assert [2, 4, 8, 10, 10] == [chunk_frames(2, 10, 2.0, i) for i in range(5)]
    assert 10 == chunk_frames(2, 10, 2.0, 10**6)


def test_a_ramp_of_one_is_flat() -> None:
    """Without growth all chunks are as short as the first."""
    assert [3, 3, 3] == [chunk_frames(3, 10, 1.0, i) for i in range(3)]


def test_cost_is_learned_from_batches_of_several_sizes() -> None:
    """After some batches the estimate is what was measured, for sizes seen and not seen."""
    cost = LinearCost(fixed_s=0.1, per_item_s=0.1)
    for i in range(400):
        count = 1 + i % 16
        cost.observe(count, 0.002 + 0.0005 * count)

    assert pytest.approx(0.002 + 0.0005 * 32, rel=0.02) == cost.seconds(32)
    assert 16 == pytest.approx(cost.count_within(0.002 + 0.0005 * 16), abs=1)


def test_cost_of_one_size_moves_as_a_whole() -> None:
    """If all batches have one size, its cost is right and no slope is invented."""
    cost = LinearCost(fixed_s=0.002, per_item_s=0.0003)
    for _ in range(400):
        cost.observe(4, 0.006)

    assert pytest.approx(0.006, rel=0.01) == cost.seconds(4)
    assert cost.seconds(1) <= cost.seconds(4) <= cost.seconds(8)


def test_a_hiccup_counts_as_twice_the_estimate() -> None:
    """One step that was interrupted for a second does not make the estimate a second."""
    cost = LinearCost(fixed_s=0.002, per_item_s=0.0003)
    for _ in range(100):
        cost.observe(4, 0.003)
    cost.observe(4, 1.0)

    assert 0.0035 > cost.seconds(4)


def test_a_sensible_batch_is_not_mostly_overhead() -> None:
    """A budget is kept where that makes sense; a batch that only pays its fixed part does not."""
    cost = LinearCost(fixed_s=0.002, per_item_s=0.001)

    assert (1, 6, 18) == (
        LinearCost(0.0, 1.0).sensible_count(0.5),
        cost.sensible_count(0.001),
        cost.sensible_count(0.0205),
    )


def test_no_item_fits_into_less_than_the_fixed_cost() -> None:
    """A budget below the fixed part buys nothing, an endless one very much."""
    cost = LinearCost(fixed_s=0.002, per_item_s=0.001)

    assert (0, 3, 1_000_000) == (cost.count_within(0.001), cost.count_within(0.0055), cost.count_within(math.inf))
