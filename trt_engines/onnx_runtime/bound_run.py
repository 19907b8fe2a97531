"""One run of a session on fixed memory: bound once, run often, without an allocation or a copy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from trt_engines.errors import BackendError
from trt_engines.onnx_runtime.denormals import denormals_flushed
from trt_engines.onnx_runtime.ort_errors import ORT_ERRORS

ALIGNMENT_BYTES = 64

Arrays = Mapping[str, NDArray[Any]]


class BoundRun:
    """A session with every input and output bound to an array.

    An output bound to the memory of an input is updated in place where the graph allows it (TensorScatter does).
    """

    def __init__(self, session: ort.InferenceSession, inputs: Arrays, outputs: Arrays) -> None:
        self._session = session
        self._inputs, self._outputs = dict(inputs), dict(outputs)  # keep the bound memory alive
        self._binding = session.io_binding()
        for name, array in inputs.items():
            self._binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, _address(name, array))
        for name, array in outputs.items():
            self._binding.bind_output(name, "cpu", 0, array.dtype.type, array.shape, _address(name, array))

    def __call__(self) -> None:
        """Run on what the input arrays hold now.

        Raises:
            BackendError: ONNX Runtime failed.
        """
        try:
            with denormals_flushed():
                self._session.run_with_iobinding(self._binding)
        except ORT_ERRORS as error:
            shapes = {name: array.shape for name, array in self._inputs.items() if not name.startswith(("k_", "v_"))}
            raise BackendError(f"ONNX Runtime {ort.__version__} failed on inputs of {shapes}: {error}") from error


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any] | str) -> NDArray[Any]:
    """Return zeros that start at a cache line, which numpy does not promise and vector instructions like."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    raw = np.zeros(count * kind.itemsize + ALIGNMENT_BYTES, np.uint8)
    offset = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[offset : offset + count * kind.itemsize].view(kind).reshape(shape)


def _address(name: str, array: NDArray[Any]) -> int:
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} is strided memory of shape {array.shape}; only contiguous memory can be bound.")
    return array.ctypes.data
