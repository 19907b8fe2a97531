"""The report on rounding, on cases that can be computed by hand."""

import math

import pytest
import torch

from build_engines.fish_speech.quality import codec_quality, talker_quality


def test_logits_by_hand() -> None:
    """Two positions of two ids: one exact, one turned by a right angle whose likeliest id changes."""
    exact = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    rounded = torch.tensor([[0.0, 2.0], [0.0, 3.0]])
    items = talker_quality({"token": exact}, {"token": rounded})

    assert {"talker"} == {item.part for item in items}
    values = {item.measure: item.value for item in items}
    high = 1 / (1 + math.exp(-3))
    assert values["token logits: mean squared error"] == pytest.approx(18 / 4)
    assert values["token logits: cosine"] == pytest.approx((1 + 0) / 2)
    assert values["token logits: share of equal likeliest ids"] == 0.5
    assert values["token logits: divergence, nats"] == pytest.approx(3 * (high - (1 - high)) / 2)


def test_spectra_and_codes_by_hand() -> None:
    """A difference of one neper in half of the bands is 4.3 dB on average; one code of four differs."""
    exact = {"mel": torch.zeros(1, 2, 3), "codes": torch.tensor([[[1, 2], [3, 4]]])}
    rounded = {"mel": torch.zeros(1, 2, 3), "codes": torch.tensor([[[1, 2], [3, 5]]])}
    rounded["mel"][:, 1] = -1.0
    distance, agreement = codec_quality(exact, rounded)

    assert ("codec", "mel distance, dB") == (distance.part, distance.measure)
    assert distance.value == pytest.approx(20 / math.log(10) / 2)
    assert agreement.value == 0.75


def test_equal_networks_cost_nothing() -> None:
    """No error, a cosine of one, full agreement."""
    logits = {"codes": torch.randn(5, 7, generator=torch.Generator().manual_seed(0))}
    error, cosine, divergence, share = (item.value for item in talker_quality(logits, logits))
    assert (error, share) == (0, 1)
    assert cosine == pytest.approx(1)
    assert divergence == pytest.approx(0, abs=1e-6)
