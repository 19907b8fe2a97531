"""Layers of graphs in every storage."""

import numpy as np
import pytest

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import linear, silu
from build_engines.graph.quantization import BLOCK_SIZE, ZERO_POINT, quantize_blocks
from build_engines.graph.storage import Storage
from tests.build_engines.graph.graph_session import run_graph


@pytest.mark.parametrize(("storage", "worst"), [(Storage.FLOAT32, 1e-6), (Storage.PACKED, 0.03), (Storage.INT8, 0.06)])
def test_linear_equals_numpy_in_every_storage(storage: Storage, worst: float) -> None:
    """A linear map is x W^T + b, with an error as small as its storage promises; inputs need not fill whole blocks."""
    random = np.random.default_rng(0)
    weights = {"map.weight": random.standard_normal((700, 100)) / 10, "map.bias": random.standard_normal(700)}
    weights = {name: array.astype(np.float32) for name, array in weights.items()}
    hidden = random.standard_normal((3, 100)).astype(np.float32)
    graph = GraphBuilder("linear", storage)
    graph.output("y", linear(graph.input("x", np.float32, ["N", 100]), weights, "map"), ["N", 700])

    expected = hidden @ weights["map.weight"].T + weights["map.bias"]
    assert np.abs(run_graph(graph, x=hidden)[0] - expected).max() <= worst


def test_blocks_restore_within_half_a_step() -> None:
    """Every 8-bit weight is at most half a step of its block's scale away from the original."""
    matrix = np.random.default_rng(1).standard_normal((7, 130)).astype(np.float32)
    packed, scales = quantize_blocks(matrix)

    restored = ((packed.astype(np.float32) - ZERO_POINT) * scales[..., None]).reshape(7, -1)[:, :130]
    steps = np.repeat(scales, BLOCK_SIZE, axis=1)[:, :130]
    assert packed.shape == (7, 3, BLOCK_SIZE)
    assert (np.abs(restored - matrix) <= 0.5001 * steps).all()


@pytest.mark.parametrize("storage", [Storage.PACKED, Storage.INT8])
def test_small_matrices_are_not_quantized(storage: Storage) -> None:
    """A head of a few outputs keeps float16: it takes no room, and its rounding would be heard most."""
    weights = {"head.weight": np.linspace(-1, 1, 5 * 128, dtype=np.float32).reshape(5, 128)}
    graph = GraphBuilder("head", storage)
    graph.output("y", linear(graph.input("x", np.float32, ["N", 128]), weights, "head"), ["N", 5])

    (made,) = run_graph(graph, x=np.eye(128, dtype=np.float32))
    np.testing.assert_array_equal(made.T, weights["head.weight"].astype(np.float16))


def test_a_block_of_zeros_stays_zero() -> None:
    """Weights that are all zero have a scale all the same, and come back as zeros."""
    packed, scales = quantize_blocks(np.zeros((2, 64), np.float32))

    assert (packed == ZERO_POINT).all()
    assert (scales > 0).all()


def test_silu_is_x_times_its_sigmoid() -> None:
    """The activation is spelled out in standard operators."""
    graph = GraphBuilder("silu")
    graph.output("y", silu(graph.input("x", np.float32, ["N"])), ["N"])
    numbers = np.linspace(-4, 4, 9, dtype=np.float32)

    np.testing.assert_allclose(run_graph(graph, x=numbers)[0], numbers / (1 + np.exp(-numbers)), rtol=1e-5)
