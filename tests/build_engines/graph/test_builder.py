"""Graphs written node by node."""

import numpy as np
import pytest

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.storage import Storage
from tests.build_engines.graph.graph_session import run_graph


def test_arithmetic_becomes_nodes() -> None:
    """Operators on values compute what numpy computes."""
    graph = GraphBuilder("arithmetic")
    x = graph.input("x", np.float32, ["N", 3])
    graph.output("y", (x * 2.0 - 1.0) / (x + 4.0), ["N", 3])
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)

    np.testing.assert_array_equal(run_graph(graph, x=numbers)[0], (numbers * 2 - 1) / (numbers + 4))


def test_equal_small_constants_are_stored_once() -> None:
    """The same number used twice is one initializer."""
    graph = GraphBuilder("constants")
    x = graph.input("x", np.float32, ["N"])
    graph.output("y", (x + 1.0) * (x - 1.0), ["N"])

    assert len(graph.model().graph.initializer) == 1


@pytest.mark.parametrize(("storage", "worst"), [(Storage.FLOAT32, 0), (Storage.FLOAT16, 1e-3), (Storage.PACKED, 1e-2)])
def test_weights_come_back_within_their_storage(storage: Storage, worst: float) -> None:
    """A stored matrix is float32 again in the graph, off by no more than its storage rounds."""
    matrix = np.random.default_rng(0).uniform(-1, 1, (700, 100)).astype(np.float32)
    graph = GraphBuilder("weights", storage)
    x = graph.input("x", np.float32, ["N", 700])
    graph.output("y", x @ graph.weight("matrix", matrix), ["N", 100])

    (restored,) = run_graph(graph, x=np.eye(700, dtype=np.float32))
    assert np.abs(restored - matrix).max() <= worst


def test_weights_too_large_for_float16_are_refused() -> None:
    """A weight that float16 cannot hold names itself instead of becoming infinite."""
    graph = GraphBuilder("weights", Storage.FLOAT16)

    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="Weight wide has values beyond float16's 65504; store this graph as float32"),
    ):
        graph.weight("wide", np.full((2, 2), 1e6, np.float32))
