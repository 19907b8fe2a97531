"""Layers without state, on the weights of a checkpoint: linear maps, norms, activations."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from build_engines.graph.builder import CONTRIB_DOMAIN
from build_engines.graph.value import Value

Weights = Mapping[str, npt.NDArray[np.float32]]

ROUNDED_INPUTS = 4
"""Level of MatMulNBits that rounds what is multiplied to 8 bits as well, a scale for each block: 20 times faster."""


def linear(hidden: Value, weights: Weights, name: str) -> Value:
    """Apply torch's nn.Linear `name`: `<name>.weight` [outputs, inputs], `<name>.bias` [outputs] if there is one."""
    mapped = project(hidden, f"{name}.weight", weights[f"{name}.weight"])
    bias = weights.get(f"{name}.bias")
    return mapped if bias is None else mapped + hidden.graph.weight(f"{name}.bias", bias)


def project(hidden: Value, name: str, matrix: npt.NDArray[np.float32], *, is_head: bool = False) -> Value:
    """Multiply by a matrix [outputs, inputs] in the graph's storage format; the result of a head is drawn from."""
    graph = hidden.graph
    blocks = graph.storage.product_format(matrix.shape, is_head=is_head)
    if blocks is None:
        return hidden @ graph.weight(name, matrix).transpose(1, 0)
    packed, scales = blocks.quantize(matrix)
    return graph.op(
        "MatMulNBits",
        [hidden, graph.initializer(f"{name}.packed", packed), graph.initializer(f"{name}.scales", scales)],
        domain=CONTRIB_DOMAIN,
        K=matrix.shape[1],
        N=matrix.shape[0],
        bits=blocks.bits,
        block_size=blocks.block_size,
        accuracy_level=ROUNDED_INPUTS,
    )


def rms_norm(hidden: Value, weights: Weights, name: str, eps: float) -> Value:
    """Root-mean-square normalization of the last axis with `<name>.weight`."""
    graph = hidden.graph
    return graph.op(
        "RMSNormalization", [hidden, graph.weight(f"{name}.weight", weights[f"{name}.weight"])], epsilon=eps
    )


def layer_norm(hidden: Value, weights: Weights, name: str) -> Value:
    """Layer normalization of the last axis with torch's default epsilon."""
    scale, bias = (hidden.graph.weight(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias"))
    return hidden.graph.op("LayerNormalization", [hidden, scale, bias], axis=-1, epsilon=1e-5)


def gelu(hidden: Value) -> Value:
    """The exact Gaussian error linear unit."""
    return hidden.graph.op("Gelu", [hidden])


def silu(hidden: Value) -> Value:
    """Multiply by the sigmoid, spelled out because TensorRT before 11 has no Swish."""
    return hidden * hidden.graph.op("Sigmoid", [hidden])
