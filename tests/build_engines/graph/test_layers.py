"""Layers of graphs in every storage."""

import numpy as np
import pytest

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import linear, project, silu
from build_engines.graph.quantization import EIGHT_BITS, FOUR_BITS, BlockFormat
from build_engines.graph.storage import Storage
from tests.build_engines.graph.graph_session import run_graph


@pytest.mark.parametrize(
    ("storage", "worst"), [(Storage.FLOAT32, 1e-6), (Storage.PACKED, 0.03), (Storage.INT8, 0.06), (Storage.INT4, 0.5)]
)
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


@pytest.mark.parametrize(("blocks", "block_bytes"), [(EIGHT_BITS, 64), (FOUR_BITS, 16)])
def test_blocks_restore_within_half_a_step(blocks: BlockFormat, block_bytes: int) -> None:
    """Every weight comes back within half a step of its block's scale, or a whole one at the end where 4 bits stop."""
    matrix = np.random.default_rng(1).standard_normal((7, 130)).astype(np.float32)
    packed, scales = blocks.quantize(matrix)

    steps = np.repeat(np.abs(scales), blocks.block_size, axis=1)[:, :130]
    errors = np.abs(blocks.dequantize(packed, scales, 130) - matrix) / steps
    assert packed.shape == (7, -(-130 // blocks.block_size), block_bytes)
    assert errors.max() <= (0.5001 if blocks is EIGHT_BITS else 1.0001)
    assert (errors > 0.5001).mean() < 0.02


def test_four_bits_by_hand() -> None:
    """The farthest weight is -8 steps from zero whatever its sign, and two numbers share a byte, the first one low."""
    matrix = np.zeros((2, 32), np.float32)
    matrix[0, :4] = 4.0, -1.0, 0.5, -4.0  # a step of -0.5: -8, 2, -1, and 8, which does not exist
    matrix[1, :3] = -8.0, 7.0, 1.0  # a step of 1
    packed, scales = FOUR_BITS.quantize(matrix)

    assert scales.tolist() == [[-0.5], [1.0]]
    assert packed[0, 0, :3].tolist() == [0 | 10 << 4, 7 | 15 << 4, 8 | 8 << 4]
    assert packed[1, 0, :2].tolist() == [0 | 15 << 4, 9 | 8 << 4]
    assert FOUR_BITS.dequantize(packed, scales, 4).tolist() == [[4.0, -1.0, 0.5, -3.5], [-8.0, 7.0, 1.0, 0.0]]


@pytest.mark.parametrize("storage", [Storage.PACKED, Storage.INT8, Storage.INT4])
def test_small_matrices_are_not_quantized(storage: Storage) -> None:
    """A head of a few outputs keeps float16: it takes no room, and its rounding would be heard most."""
    weights = {"head.weight": np.linspace(-1, 1, 5 * 128, dtype=np.float32).reshape(5, 128)}
    graph = GraphBuilder("head", storage)
    graph.output("y", linear(graph.input("x", np.float32, ["N", 128]), weights, "head"), ["N", 5])

    (made,) = run_graph(graph, x=np.eye(128, dtype=np.float32))
    np.testing.assert_array_equal(made.T, weights["head.weight"].astype(np.float16))


@pytest.mark.parametrize("blocks", [EIGHT_BITS, FOUR_BITS])
def test_a_block_of_zeros_stays_zero(blocks: BlockFormat) -> None:
    """Weights that are all zero have a scale all the same, and come back as zeros."""
    packed, scales = blocks.quantize(np.zeros((2, 64), np.float32))

    assert (blocks.dequantize(packed, scales, 64) == 0).all()
    assert (scales != 0).all()


def test_a_head_keeps_eight_bits_among_four() -> None:
    """What is drawn from is not rounded to 4 bits; anything else is."""
    matrix = np.random.default_rng(2).standard_normal((700, 100)).astype(np.float32)
    graph = GraphBuilder("heads", Storage.INT4)
    x = graph.input("x", np.float32, ["N", 100])
    graph.output("head", project(x, "head", matrix, is_head=True), ["N", 700])
    graph.output("body", project(x, "body", matrix), ["N", 700])

    head, body = run_graph(graph, x=np.eye(100, dtype=np.float32))
    assert np.abs(head.T - matrix).max() < 0.03
    assert np.abs(body.T - matrix).max() > 0.1


def test_silu_is_x_times_its_sigmoid() -> None:
    """The activation is spelled out in standard operators."""
    graph = GraphBuilder("silu")
    graph.output("y", silu(graph.input("x", np.float32, ["N"])), ["N"])
    numbers = np.linspace(-4, 4, 9, dtype=np.float32)

    np.testing.assert_allclose(run_graph(graph, x=numbers)[0], numbers / (1 + np.exp(-numbers)), rtol=1e-5)
