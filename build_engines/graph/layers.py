"""Layers without state, on the weights of a checkpoint: linear maps, norms, activations."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from build_engines.graph.builder import CONTRIB_DOMAIN
from build_engines.graph.quantization import BLOCK_SIZE, is_worth_packing, quantize_blocks
from build_engines.graph.storage import Storage
from build_engines.graph.value import Value

Weights = Mapping[str, npt.NDArray[np.float32]]


def linear(hidden: Value, weights: Weights, name: str) -> Value:
    """Apply torch's nn.Linear `name`: `<name>.weight` [outputs, inputs], `<name>.bias` [outputs] if there is one."""
    mapped = project(hidden, f"{name}.weight", weights[f"{name}.weight"])
    bias = weights.get(f"{name}.bias")
    return mapped if bias is None else mapped + hidden.graph.weight(f"{name}.bias", bias)


def project(hidden: Value, name: str, matrix: npt.NDArray[np.float32]) -> Value:
    """Multiply by a matrix [outputs, inputs] in the graph's storage format."""
    graph = hidden.graph
    if graph.storage is not Storage.INT8 or not is_worth_packing(matrix.shape):
        return hidden @ graph.weight(name, matrix).transpose(1, 0)
    packed, scales = quantize_blocks(matrix)
    return graph.op(
        "MatMulNBits",
        [hidden, graph.initializer(f"{name}.packed", packed), graph.initializer(f"{name}.scales", scales)],
        domain=CONTRIB_DOMAIN,
        K=matrix.shape[1],
        N=matrix.shape[0],
        bits=8,
        block_size=BLOCK_SIZE,
        accuracy_level=4,
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
