"""Runs one graph of a bundle on ONNX Runtime by tensor names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

BACKEND = f"onnxruntime {ort.__version__} cpu"

Arrays = dict[str, npt.NDArray[Any]]


class GraphRunner:
    """A session of one thread, as the engine has."""

    def __init__(self, path: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._outputs = [item.name for item in self._session.get_outputs()]
        self._inputs = {item.name: item.shape for item in self._session.get_inputs()}

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> Arrays:
        """Return all outputs by name."""
        return dict(zip(self._outputs, self._session.run(None, dict(feeds)), strict=True))

    def empty_caches(self, batch: int, capacity: int) -> Arrays:
        """Return caches of zeros for the graph's inputs `k_<layer>` and `v_<layer>`."""
        shapes = {name: shape for name, shape in self._inputs.items() if name[:2] in ("k_", "v_")}
        return {name: np.zeros((batch, shape[1], capacity, shape[3]), np.float32) for name, shape in shapes.items()}
