"""Weights beside a graph: the same results, a small model file."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.weight_file import WeightFile


def test_a_graph_with_its_weights_beside_it_computes_the_same(tmp_path: Path) -> None:
    """Large arrays go to the file, page by page, and the checker and ONNX Runtime find them there."""
    weights = WeightFile(tmp_path / "graph.data")
    graph = GraphBuilder("graph", weight_file=weights)
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 40, 40), np.float32)
    hidden = graph.input("x", np.float32, ["B", 40])
    product = hidden @ graph.weight("first", first) @ graph.weight("second", second) + np.ones(40, np.float32)
    graph.output("y", product, ["B", 40])
    onnx.save(graph.model(), tmp_path / "graph.onnx")
    weights.close()
    onnx.checker.check_model(str(tmp_path / "graph.onnx"))
    assert (tmp_path / "graph.data").stat().st_size == 8192 + second.nbytes
    assert (tmp_path / "graph.onnx").stat().st_size < 2048
    session = ort.InferenceSession(tmp_path / "graph.onnx", providers=["CPUExecutionProvider"])
    given = rng.standard_normal((3, 40), np.float32)
    np.testing.assert_allclose(session.run(None, {"x": given})[0], given @ first @ second + 1, rtol=1e-4, atol=1e-4)
