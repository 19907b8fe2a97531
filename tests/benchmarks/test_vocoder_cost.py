"""Calls of the vocoder that benchmarks time: the shipped bundle, which has several voices, takes them."""

from pathlib import Path

import pytest

from benchmarks.vocoder_calls import VocoderCalls
from benchmarks.vocoder_cost import difference
from benchmarks.vocoder_profile import VocoderProfile

SHIPPED = Path(__file__).parents[2] / "voices" / "default"


def test_the_shipped_vocoder_can_be_timed_and_profiled() -> None:
    """Its graph has an input for the voice, which was once left out."""
    VocoderCalls(SHIPPED).work(2, 3)()
    profile = VocoderProfile.of(SHIPPED, 2, 3)

    assert profile.matrix_bytes > 1 << 20
    assert sum(profile.shares.values()) == pytest.approx(1.0, abs=0.01)


def test_a_bundle_does_not_differ_from_itself() -> None:
    """What the talker says is vocoded by both."""
    compared = difference([SHIPPED, SHIPPED])

    assert compared["largest_difference"] == 0.0
    assert compared["largest_sample"] > 0.1
    assert compared["seconds"] > 4.0
