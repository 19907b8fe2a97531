"""The simulation is fair to all policies, and shows what the playback clock is for."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.policies import POLICIES
from benchmarks.simulate_policies import CPU, row, simulate
from benchmarks.virtual_engine import FRAME_S, Listener, arrivals


def median_ttfa_s(listeners: Sequence[Listener]) -> float:
    """The time to first audio in the middle of all."""
    times_s = sorted(listener.ttfa_s for listener in listeners)
    return times_s[len(times_s) // 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_everybody_hears_everything_once(policy: str) -> None:
    """No policy loses or repeats a frame of an utterance that it took on."""
    listeners = arrivals(6, 10.0, seed=3)
    POLICIES[policy](CPU, listeners)

    assert listeners
    assert [pytest.approx(each.frames * FRAME_S) for each in listeners] == [
        each.clock.delivered_s for each in listeners
    ]
    assert all(each.ttfa_s > 0.0 for each in listeners)


def test_a_full_engine_refuses_rather_than_stutters() -> None:
    """With more people than slots some are refused, and whoever is taken hears no gap."""
    listeners = arrivals(20, 10.0, seed=3)
    POLICIES["playback clock (ours)"](replace(CPU, slot_count=8), listeners)
    taken = [each for each in listeners if not each.is_refused]

    assert 0 < len(taken) < len(listeners)
    assert not any(each.is_broken for each in taken)


def test_first_audio_comes_soonest_by_the_playback_clock() -> None:
    """On a busy engine one at a time is hopeless, and pacing leaves room for who comes new."""
    slow = replace(CPU, step_s=(0.0025, 0.0007))
    fared = simulate(slow, 20, 15.0, seed=1)
    ttfa_s = {name: median_ttfa_s(listeners) for name, listeners in fared.items()}

    assert ttfa_s["playback clock (ours)"] < ttfa_s["continuous, no pacing"] < ttfa_s["one at a time"]
    assert not any(listener.is_broken for listener in fared["playback clock (ours)"])


def test_a_row_of_the_table_holds_what_was_measured() -> None:
    """Rounded for people: milliseconds and per cent."""
    listeners = [Listener(0.0, [10], first_audio_s=0.05, most_ahead_s=1.5), Listener(0.0, [10], is_refused=True)]

    expected = "| default voice, 2 CPU cores | 8 | ours | 50 | 50 | 100.0 | 0 | 1.5 | 50.0 |"

    assert expected == row(CPU, 8, "ours", listeners)
