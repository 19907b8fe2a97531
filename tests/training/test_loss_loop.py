"""The loop that trains codec and voices: rates, weights of the parts, and when it saves."""

import pytest
import torch
from torch import nn

from training.loss_loop import LossLoop


def test_it_saves_on_the_way_and_at_the_end_and_goes_on_where_it_was() -> None:
    """Steps count through; every one has the rate of its own number."""
    place, rates, saved = nn.Parameter(torch.zeros(2)), list[int](), list[int]()

    def rate_at(step: int) -> float:
        rates.append(step)
        return 0.01

    optimizer = torch.optim.SGD([place])
    loop = LossLoop("test", optimizer, lambda: {"far": (place - 1).pow(2).sum()}, rate_at, saved.append, 2, 2)
    loop.run(0, 3)
    loop.run(3, 5)

    assert [0, 1, 2, 3, 4] == rates
    assert [2, 3, 4, 5] == saved
    assert 0.01 == optimizer.param_groups[0]["lr"]


def test_parts_count_by_their_weights_and_steps_are_no_longer_than_the_rate() -> None:
    """A part of weight 0 teaches nothing; one without a weight counts once; a large gradient is cut to length 1."""
    left, right, far = (nn.Parameter(torch.zeros(1)) for _ in range(3))
    optimizer = torch.optim.SGD([left, right, far])

    def losses() -> dict[str, torch.Tensor]:
        return {"left": left.sum(), "right": right.sum(), "far": 1000 * far.sum()}

    LossLoop("test", optimizer, losses, lambda _: 0.5, lambda _: None, 9, 9).run(0, 1, {"left": 0.0, "far": 1e-3})

    assert 0.0 == left.item()
    assert right.item() == far.item() == pytest.approx(-0.5 / 2**0.5)
