"""A streamed ConvNeXt block: shifted multiply-adds, so that no kernel chooses its arithmetic by length."""

from build_engines.graph.layers import Weights, gelu, layer_norm, linear
from build_engines.graph.value import Value
from build_engines.vocoder.carried_state import CarriedState


def streamed_block(
    hidden: Value, weights: Weights, name: str, state: CarriedState, *, rate: int, is_causal: bool
) -> Value:
    """Run `networks.convnext.ConvNextBlock` on new steps [N, time, width].

    Output step t belongs to input step t of a causal block, else to input step t - kernel // 2.
    """
    taps = weights[f"{name}.dw.weight"][:, 0]
    width, kernel = taps.shape
    joined = state.join(hidden, kernel - 1, rate, width)
    mixed = hidden.graph.weight(f"{name}.dw.bias", weights[f"{name}.dw.bias"])
    for tap in range(kernel):
        scale = hidden.graph.weight(f"{name}.dw.{tap}", taps[:, tap])
        mixed = mixed + _steps(joined, tap, kernel) * scale
    normed = layer_norm(mixed, weights, f"{name}.norm")
    spread = gelu(linear(normed, weights, f"{name}.pw1"))
    update = linear(spread, weights, f"{name}.pw2")
    center = kernel - 1 if is_causal else kernel - 1 - kernel // 2
    gamma = hidden.graph.weight(f"{name}.gamma", weights[f"{name}.gamma"])
    return _steps(joined, center, kernel) + update * gamma


def _steps(joined: Value, start: int, kernel: int) -> Value:
    """Take as many steps as there are new ones, from `start` of the joined signal."""
    behind = kernel - 1 - start
    return joined.slice(1, start, -behind if behind else None)
