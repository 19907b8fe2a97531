"""Runs a graph under test on ONNX Runtime."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from build_engines.graph.builder import GraphBuilder


def run_graph(graph: GraphBuilder, **feeds: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return the outputs of a finished graph, in their order."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(graph.model().SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(output) for output in session.run(None, feeds)]
