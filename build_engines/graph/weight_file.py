"""Weights kept beside a graph: a model file cannot hold more than two gigabytes."""

from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

_ALIGNMENT_BYTES = 4096
LEAST_BYTES = 1024
"""Smaller arrays stay in the model file, where the shape of a graph is inferred from them."""


class WeightFile:
    """Appends arrays to a file as they come, so that they are never all in memory twice.

    Attributes:
        path: the file, in the directory of the model.
    """

    def __init__(self, path: Path) -> None:
        """Make the file anew."""
        self.path = path
        self._stream: BinaryIO = path.open("wb")

    def tensor(self, name: str, array: npt.NDArray[np.generic]) -> TensorProto:
        """Store an array and return the tensor that refers to it; each starts at a page, so that it can be mapped."""
        self._stream.write(b"\0" * (-self._stream.tell() % _ALIGNMENT_BYTES))
        tensor = TensorProto(name=name, dims=array.shape, data_location=TensorProto.EXTERNAL)
        tensor.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        for key, value in (("location", self.path.name), ("offset", self._stream.tell()), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self._stream.write(array.data)
        return tensor

    def close(self) -> None:
        """Finish the file."""
        self._stream.close()
