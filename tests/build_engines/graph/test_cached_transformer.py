"""The transformer with a cache against torch over the whole sequence."""

import numpy as np
import pytest
import torch

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.cached_transformer import CachedTransformer
from build_engines.graph.layer_stack import LayerStack, rope_tables
from build_engines.networks.transformer import Transformer, rope_table
from build_engines.networks.transformer_config import TransformerConfig
from build_engines.pointer.build import arrays_of
from tests.build_engines.graph.graph_session import run_graph

CONFIG = TransformerConfig(width=24, layers=2, heads=4, kv_heads=2, head_dim=8, ffn_width=40, qkv_bias=True)
CAPACITY = 16


def test_rows_in_any_chunks_equal_the_whole_sequence() -> None:
    """Rows given in two calls, to caches that hold garbage behind, come out as torch's whole sequence."""
    torch.manual_seed(0)
    network = Transformer(CONFIG).eval()
    rows = torch.randn(3, 9, CONFIG.width)
    graph = GraphBuilder("slow")
    hidden = graph.input("hidden", np.float32, ["B", "L", CONFIG.width])
    position = graph.input("position", np.int64, ["B"])
    stack = LayerStack(CONFIG, arrays_of(network), "", CAPACITY)
    graph.output("out", CachedTransformer(stack).apply(hidden, position), ["B", "L", CONFIG.width])
    names = [f"{kind}_{layer}" for layer in range(CONFIG.layers) for kind in "kv"]
    caches = {name: np.full((3, CONFIG.kv_heads, CAPACITY, CONFIG.head_dim), 9, np.float32) for name in names}
    order = [output.name for output in graph.model().graph.output]

    outputs = []
    for start, end in ((0, 4), (4, 9)):
        entering = rows[:, start:end].numpy()
        made = dict(zip(order, run_graph(graph, hidden=entering, position=np.full(3, start), **caches), strict=True))
        caches = {name: made[f"{name}_out"] for name in names}
        outputs.append(made["out"])
    with torch.no_grad():
        expected = network(rows).numpy()
    np.testing.assert_allclose(np.concatenate(outputs, 1), expected, atol=2e-5)


@pytest.mark.parametrize("rounded", [False, True])
def test_rotary_tables_equal_those_of_torch(rounded: bool) -> None:
    """The tables in the graph hold the angles of the torch network, rounded to bfloat16 or not."""
    config = TransformerConfig(24, 2, 4, 2, 64, 40, rope_base=1e6, rope_rounded=rounded)
    expected = rope_table(200, 64, 1e6, rounded=rounded)

    for table, other in zip(rope_tables(200, config), expected, strict=True):
        np.testing.assert_allclose(table, other.numpy(), atol=0.004 if rounded else 2e-5)
