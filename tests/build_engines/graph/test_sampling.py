"""Sampling inside a graph against the same in plain numpy."""

import numpy as np
import pytest

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.sampling import sample
from build_engines.verification.reference_draw import reference_draw
from tests.build_engines.graph.graph_session import run_graph

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def drawn(logits: Floats, temperature: Floats, top_p: Floats, uniform: Floats) -> list[int]:
    """Draw one value for each row with a graph."""
    graph = GraphBuilder("sampling")
    entries = [graph.input(name, np.float32, ["N", 1]) for name in ("temperature", "top_p", "uniform")]
    scores = graph.input("logits", np.float32, ["N", logits.shape[1]])
    graph.output("value", sample(scores, *entries, logits.shape[1]), ["N", 1])
    feeds = {"logits": logits, "temperature": temperature, "top_p": top_p, "uniform": uniform}
    return [int(value) for value in run_graph(graph, **feeds)[0][:, 0]]


@pytest.mark.parametrize("value_count", [5, 108, 1000])
def test_draws_equal_the_reference(value_count: int) -> None:
    """Over random logits and parameters the graph draws what numpy draws."""
    random, rows = np.random.default_rng(value_count), 200
    logits = (random.standard_normal((rows, value_count)) * 3).astype(np.float32)
    temperature, top_p, uniform = (random.uniform(low, 1.0, (rows, 1)).astype(np.float32) for low in (0.05, 0.05, 0.0))

    expected = [reference_draw(logits[row], temperature[row, 0], top_p[row, 0], uniform[row, 0]) for row in range(rows)]
    assert drawn(logits, temperature, top_p, uniform) == expected


def test_temperature_zero_takes_the_likeliest() -> None:
    """At temperature 0 the number does not matter, and neither does how close the second best is."""
    logits = np.asarray([[1.0, 1.0001, 0.0], [5.0, 0.0, 0.0]], np.float32)
    zeros, ones = np.zeros((2, 1), np.float32), np.ones((2, 1), np.float32)

    assert drawn(logits, zeros, ones, ones * np.float32(1 - 2**-24)) == [1, 0]


def test_blocked_values_are_never_drawn() -> None:
    """A logit of minus a billion has no chance, even at the highest number."""
    logits = np.asarray([[0.0, -1e9, 0.0, -1e9, 0.0]], np.float32).repeat(100, 0)
    uniform = np.linspace(0, 1 - 2**-24, 100, dtype=np.float32)[:, None]

    assert set(drawn(logits, np.ones_like(uniform), np.ones_like(uniform), uniform)) == {0, 2, 4}


def test_draws_follow_the_probabilities() -> None:
    """Evenly spread numbers draw every value in proportion to its probability."""
    logits = np.log(np.asarray([[0.5, 0.3, 0.2]], np.float32)).repeat(1000, 0)
    uniform = ((np.arange(1000) + 0.5) / 1000).astype(np.float32)[:, None]

    counts = np.bincount(drawn(logits, np.ones_like(uniform), np.ones_like(uniform), uniform))
    np.testing.assert_allclose(counts, [500, 300, 200], atol=1)
