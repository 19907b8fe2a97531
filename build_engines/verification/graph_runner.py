"""Runs one graph of a bundle on ONNX Runtime by tensor names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

BACKEND = f"onnxruntime {ort.__version__} cpu"

_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"

Arrays = dict[str, npt.NDArray[Any]]


class GraphRunner:
    """A session of one thread, as the engine has."""

    def __init__(self, path: Path, *, exact_products: bool = False) -> None:
        """Open a graph.

        Args:
            path: the graph.
            exact_products: whether to multiply quantized weights by floats that are not rounded. That is slow, but
                depends on nothing but the weights, and is the same on every processor to the last bits of a float.
        """
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(path.parent))
        source = _exact(path) if exact_products else str(path)
        self._session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        self._outputs = [item.name for item in self._session.get_outputs()]
        self._inputs = {item.name: item.shape for item in self._session.get_inputs()}

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> Arrays:
        """Return all outputs by name."""
        return dict(zip(self._outputs, self._session.run(None, dict(feeds)), strict=True))

    def empty_caches(self, batch: int, capacity: int) -> Arrays:
        """Return caches of zeros for the graph's inputs `k_<layer>` and `v_<layer>`."""
        shapes = {name: shape for name, shape in self._inputs.items() if name[:2] in ("k_", "v_")}
        return {name: np.zeros((batch, shape[1], capacity, shape[3]), np.float32) for name, shape in shapes.items()}


def has_rounded_inputs(path: Path) -> bool:
    """Say whether a graph has products that round what they multiply."""
    return any(node.op_type == "MatMulNBits" for node in onnx.load(path, load_external_data=False).graph.node)


def _exact(path: Path) -> bytes:
    """Return a graph whose products do not round their inputs; weights beside it stay there."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = 0
    exact: bytes = model.SerializeToString()
    return exact
