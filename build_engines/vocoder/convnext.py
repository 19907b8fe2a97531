"""A streamed ConvNeXt block: what it must remember of its input stands before the new steps."""

from collections.abc import Callable
from typing import TypeAlias

from build_engines.graph.layers import Weights, gelu, layer_norm, linear
from build_engines.graph.value import Value
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.cuts import steps

Update: TypeAlias = Callable[[Value], Value]


def streamed_block(
    hidden: Value,
    weights: Weights,
    name: str,
    state: CarriedState,
    *,
    rate: int,
    is_causal: bool,
    delay: int = 0,
    update: Update | None = None,
) -> Value:
    """Run `networks.convnext.ConvNextBlock` on new steps [N, time, 1, width].

    Output step t belongs to input step t of a causal block, else to input step t - kernel // 2; both come `delay` steps
    later still. An `update` takes the place of the block's own, given the depthwise convolution.
    """
    width, _, kernel = weights[f"{name}.dw.weight"].shape
    joined = state.join(hidden, kernel - 1 + delay, rate, width)
    seen = steps(joined, 0, delay)
    mixed = depthwise(seen, weights, f"{name}.dw")
    added = _update(mixed, weights, name) if update is None else update(mixed)
    behind = 0 if is_causal else kernel // 2
    return (steps(joined, kernel - 1 - behind, behind + delay) if behind + delay else hidden) + added


def depthwise(seen: Value, weights: Weights, name: str) -> Value:
    """Convolve each channel [N, kernel - 1 + time, 1, width] with its own taps.

    In two dimensions, of which one has a single place: that is what runtimes have vector kernels for. Channels last on
    either side, so that ONNX Runtime merges the transpositions into the change of layout that its kernel needs.
    """
    graph, taps = seen.graph, weights[f"{name}.weight"][:, 0]
    kernel = [graph.weight(f"{name}.{tap}", taps[:, tap]).unsqueeze(1, 2, 3) for tap in range(taps.shape[1])]
    operands = [
        seen.transpose(0, 3, 1, 2),
        graph.concat(kernel, 2),
        graph.weight(f"{name}.bias", weights[f"{name}.bias"]),
    ]
    mixed = graph.op("Conv", operands, group=len(taps), kernel_shape=[taps.shape[1], 1])
    return mixed.transpose(0, 2, 3, 1)


def _update(mixed: Value, weights: Weights, name: str) -> Value:
    normed = layer_norm(mixed, weights, f"{name}.norm")
    return _scaled(gelu(linear(normed, weights, f"{name}.pw1")), weights, name)


def _scaled(spread: Value, weights: Weights, name: str) -> Value:
    """Apply the second linear map times gamma, which is merged into it when the graph is loaded."""
    graph = spread.graph
    gamma = graph.weight(f"{name}.gamma", weights[f"{name}.gamma"])
    matrix, bias = (graph.weight(f"{name}.pw2.{part}", weights[f"{name}.pw2.{part}"]) for part in ("weight", "bias"))
    return spread @ (matrix * gamma.unsqueeze(1)).transpose(1, 0) + bias * gamma
