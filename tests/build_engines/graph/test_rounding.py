"""What a storage leaves of weights is what its graphs compute with."""

import numpy as np
import pytest
from numpy.typing import NDArray

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import project
from build_engines.graph.rounding import rounded_product, rounded_table, rounded_weight
from build_engines.graph.storage import Storage
from tests.build_engines.graph.graph_session import run_graph

Floats = NDArray[np.float32]


@pytest.fixture(scope="module")
def matrix() -> Floats:
    """Large enough for blocks, whose last one is not whole."""
    return np.random.default_rng(0).standard_normal((700, 100)).astype(np.float32)


@pytest.mark.parametrize("storage", list(Storage))
def test_weights_and_tables_are_the_same_bits_in_a_graph(storage: Storage, matrix: Floats) -> None:
    """A graph unpacks exactly what the rounding gives."""
    graph = GraphBuilder("stored", storage)
    rows = graph.input("rows", np.int64, ["N"])
    graph.output("weight", graph.gather(graph.weight("w", matrix), rows), ["N", 100])
    graph.output("table", graph.lookup("t", matrix, rows), ["N", 100])

    weight, table = run_graph(graph, rows=np.arange(700))
    np.testing.assert_array_equal(rounded_weight(matrix, storage), weight)
    np.testing.assert_array_equal(rounded_table(matrix, storage), table)


@pytest.mark.parametrize("storage", list(Storage))
@pytest.mark.parametrize("is_head", [False, True])
def test_products_are_those_of_the_rounded_matrix(storage: Storage, is_head: bool, matrix: Floats) -> None:
    """A row of the unit matrix has nothing to round, so that a product gives the weights themselves."""
    graph = GraphBuilder("product", storage)
    graph.output("y", project(graph.input("x", np.float32, ["N", 100]), "w", matrix, is_head=is_head), ["N", 700])

    (made,) = run_graph(graph, x=np.eye(100, dtype=np.float32))
    np.testing.assert_allclose(rounded_product(matrix, storage, is_head=is_head), made.T, atol=1e-6)


def test_only_float32_keeps_everything(matrix: Floats) -> None:
    """Any other storage changes a matrix; none changes a vector."""
    changed = {storage for storage in Storage if (rounded_weight(matrix, storage) != matrix).any()}
    assert set(Storage) - {Storage.FLOAT32} == changed
    for storage in Storage:
        np.testing.assert_array_equal(rounded_weight(matrix[0], storage), matrix[0])
