"""Runs a graph under test on ONNX Runtime."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

from build_engines.graph.builder import GraphBuilder


def run_graph(graph: GraphBuilder, **feeds: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return the outputs of a finished graph, in their order."""
    return run_model(graph.model(), feeds)


def run_model(model: onnx.ModelProto, feeds: Mapping[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return the outputs of a model, in their order."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # caches are not updated in place here, which it would remark on
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(output) for output in session.run(None, dict(feeds))]
