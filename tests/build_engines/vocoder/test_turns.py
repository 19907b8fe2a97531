"""Sine and cosine from products."""

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.vocoder.turns import centered, cosine_sine, half_turn_sine
from tests.build_engines.graph.graph_session import run_graph


def test_a_turn_equals_numpy() -> None:
    """Cosine and sine of any angle in turns are within 2e-6, the sine of half a turn within 1e-6 of itself."""
    graph = GraphBuilder("turns")
    turns = graph.input("turns", np.float32, ["N"])
    for name, value in zip(("cosine", "sine"), cosine_sine(centered(turns)), strict=True):
        graph.output(name, value, ["N"])
    graph.output("half", half_turn_sine(centered(turns)), ["N"])
    angles = np.linspace(-3, 3, 100_001).astype(np.float32)
    exact = angles.astype(np.float64)

    cosine, sine, half = run_graph(graph, turns=angles)
    np.testing.assert_allclose(cosine, np.cos(2 * np.pi * exact), atol=2e-6)
    np.testing.assert_allclose(sine, np.sin(2 * np.pi * exact), atol=2e-6)
    np.testing.assert_allclose(half, np.sin(np.pi * (exact - np.round(exact))), rtol=1e-6, atol=1e-9)


def test_an_element_does_not_depend_on_its_place() -> None:
    """The same angle gives the same bits wherever it stands in an array, so that a stream may be cut anywhere."""
    graph = GraphBuilder("turns")
    _, sine = cosine_sine(centered(graph.input("turns", np.float32, ["N"])))
    graph.output("sine", sine, ["N"])
    angles = np.random.default_rng(0).uniform(-9, 9, 1003).astype(np.float32)

    whole = run_graph(graph, turns=angles)[0]
    for start, end in ((0, 1), (5, 12), (1000, 1003), (17, 1003)):
        np.testing.assert_array_equal(run_graph(graph, turns=angles[start:end])[0], whole[start:end])
