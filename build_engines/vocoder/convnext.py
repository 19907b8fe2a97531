"""A streamed ConvNeXt block: shifted multiply-adds, so that no kernel chooses its arithmetic by length."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from build_engines.graph.layers import Weights, gelu, layer_norm, linear
from build_engines.graph.value import Value
from build_engines.vocoder.carried_state import CarriedState

Update: TypeAlias = Callable[[Value, str], Value]


def streamed_block(
    hidden: Value,
    weights: Weights,
    name: str,
    state: CarriedState,
    *,
    rate: int,
    is_causal: bool,
    update: Update | None = None,
) -> Value:
    """Run `networks.convnext.ConvNextBlock` on new steps [N, time, width].

    Output step t belongs to input step t of a causal block, else to input step t - kernel // 2. Another `update` than
    the block's own takes the convolution and the name of the block.
    """
    mixed, joined = streamed_mix(hidden, weights, name, state, rate=rate)
    if update is None:
        update = partial(_update, weights)
    kernel = weights[f"{name}.dw.weight"].shape[2]
    center = kernel - 1 if is_causal else kernel - 1 - kernel // 2
    gamma = hidden.graph.weight(f"{name}.gamma", weights[f"{name}.gamma"])
    return _steps(joined, center, kernel) + update(mixed, name) * gamma


def streamed_mix(hidden: Value, weights: Weights, name: str, state: CarriedState, *, rate: int) -> tuple[Value, Value]:
    """Run the depthwise convolution `<name>.dw` on new steps [N, time, width].

    Returns:
        The convolution [N, time, width], and the steps it was made of [N, kernel - 1 + time, width].
    """
    taps = weights[f"{name}.dw.weight"][:, 0]
    width, kernel = taps.shape
    joined = state.join(hidden, kernel - 1, rate, width)
    mixed = hidden.graph.weight(f"{name}.dw.bias", weights[f"{name}.dw.bias"])
    for tap in range(kernel):
        scale = hidden.graph.weight(f"{name}.dw.{tap}", taps[:, tap])
        mixed = mixed + _steps(joined, tap, kernel) * scale
    return mixed, joined


def _update(weights: Weights, mixed: Value, name: str) -> Value:
    normed = layer_norm(mixed, weights, f"{name}.norm")
    return linear(gelu(linear(normed, weights, f"{name}.pw1")), weights, f"{name}.pw2")


def _steps(joined: Value, start: int, kernel: int) -> Value:
    """Take as many steps as there are new ones, from `start` of the joined signal."""
    behind = kernel - 1 - start
    return joined.slice(1, start, -behind if behind else None)
