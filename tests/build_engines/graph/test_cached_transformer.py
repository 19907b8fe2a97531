"""The transformer with a cache against torch over the whole sequence."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.cached_transformer import CachedTransformer
from build_engines.graph.layer_stack import LayerStack, rope_tables
from build_engines.networks.transformer import Transformer, rope_table
from build_engines.networks.transformer_config import TransformerConfig
from build_engines.pointer.build import arrays_of
from build_engines.tensorrt.plain_weights import plain_weights
from tests.build_engines.graph.graph_session import run_graph, run_model

CONFIG = TransformerConfig(width=24, layers=2, heads=4, kv_heads=2, head_dim=16, ffn_width=40, qkv_bias=True)
CAPACITY, BATCH = 16, 3
NAMES = [f"{kind}_{layer}" for layer in range(CONFIG.layers) for kind in "kv"]
Arrays = dict[str, npt.NDArray[Any]]


@pytest.fixture
def network() -> Transformer:
    """Some weights."""
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


def transformer(network: Transformer) -> CachedTransformer:
    """The layers as parts of a graph."""
    return CachedTransformer(LayerStack(CONFIG, arrays_of(network), "", CAPACITY))


def fill_graph(network: Transformer) -> GraphBuilder:
    """Rows of any number into the caches."""
    graph = GraphBuilder("fill")
    hidden = graph.input("hidden", np.float32, ["B", "L", CONFIG.width])
    transformer(network).fill(hidden, graph.input("position", np.int64, ["B"]))
    return graph


def step_graph(network: Transformer) -> GraphBuilder:
    """One row each."""
    graph = GraphBuilder("step")
    hidden = graph.input("hidden", np.float32, ["B", 1, CONFIG.width])
    made = transformer(network).step(hidden, graph.input("position", np.int32, ["B"]))
    graph.output("out", made, ["B", 1, CONFIG.width])
    return graph


def empty_caches() -> Arrays:
    """Caches that hold garbage."""
    return {name: np.full((BATCH, CONFIG.kv_heads, CAPACITY, CONFIG.head_dim), 9, np.float32) for name in NAMES}


def test_rows_in_any_chunks_and_steps_equal_the_whole_sequence(network: Transformer) -> None:
    """Rows filled in by two calls and then run one by one come out as torch's whole sequence."""
    rows = torch.randn(BATCH, 9, CONFIG.width)
    filled, caches, outputs = 5, empty_caches(), []
    fill, step = fill_graph(network), step_graph(network)
    for start, end in ((0, 2), (2, filled)):
        made = run_graph(fill, hidden=rows[:, start:end].numpy(), position=np.full(BATCH, start), **caches)
        caches = dict(zip(NAMES, made, strict=True))
    for place in range(filled, 9):
        position = np.full(BATCH, place, np.int32)
        *made, out = run_graph(step, hidden=rows[:, place : place + 1].numpy(), position=position, **caches)
        caches = dict(zip(NAMES, made, strict=True))
        outputs.append(out)
    with torch.no_grad():
        expected = network(rows).numpy()[:, filled:]
    np.testing.assert_allclose(np.concatenate(outputs, 1), expected, atol=2e-5)


def test_a_step_is_what_its_definition_says(network: Transformer) -> None:
    """At unequal positions, the node of ONNX Runtime and its definition in standard operators give the same."""
    model = step_graph(network).model()
    plain = plain_weights(model)
    random = np.random.default_rng(1)
    caches = {name: random.standard_normal(array.shape).astype(np.float32) for name, array in empty_caches().items()}
    hidden = random.standard_normal((BATCH, 1, CONFIG.width)).astype(np.float32)
    position = np.asarray([0, 7, CAPACITY - 1], np.int32)
    feeds = {"hidden": hidden, "position": position, **caches}

    assert {"Attention", "TensorScatter"} < {node.op_type for node in plain.graph.node}
    assert "GroupQueryAttention" not in {node.op_type for node in plain.graph.node}
    *actual_caches, actual = run_model(model, feeds)
    *expected_caches, expected = run_model(plain, feeds)
    np.testing.assert_allclose(actual, expected, atol=1e-5)
    for cache, other in zip(actual_caches, expected_caches, strict=True):
        for row, last in enumerate(position):  # what lies behind is nobody's
            np.testing.assert_allclose(cache[row, :, : last + 1], other[row, :, : last + 1], atol=1e-5)


def test_a_row_has_the_same_bits_in_any_company_and_capacity(network: Transformer) -> None:
    """A step of one row alone is bit for bit that of the row among others, in caches of any length."""
    model, random = step_graph(network).model(), np.random.default_rng(2)
    caches = {name: random.standard_normal(array.shape).astype(np.float32) for name, array in empty_caches().items()}
    hidden = random.standard_normal((BATCH, 1, CONFIG.width)).astype(np.float32)
    position = np.asarray([15, 6, 2], np.int32)
    *_, together = run_model(model, {"hidden": hidden, "position": position, **caches})

    for row, capacity in ((0, CAPACITY), (1, 7), (2, 11)):
        own = {name: np.ascontiguousarray(array[row : row + 1, :, :capacity]) for name, array in caches.items()}
        feeds = {"hidden": hidden[row : row + 1], "position": position[row : row + 1], **own}
        np.testing.assert_array_equal(run_model(model, feeds)[-1][0], together[row])


@pytest.mark.parametrize("rounded", [False, True])
def test_rotary_tables_equal_those_of_torch(rounded: bool) -> None:
    """The tables in the graph hold the angles of the torch network, rounded to bfloat16 or not."""
    config = TransformerConfig(24, 2, 4, 2, 64, 40, rope_base=1e6, rope_rounded=rounded)
    expected = rope_table(200, 64, 1e6, rounded=rounded)

    for table, other in zip(rope_tables(200, config), expected, strict=True):
        np.testing.assert_allclose(table, other.numpy(), atol=0.004 if rounded else 2e-5)
