"""The weights of a graph as they are stored in it: read back as float32, in whichever form they lie there."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, numpy_helper

from build_engines.errors import CheckpointError
from build_engines.graph.builder import CONSTANT_STEM
from build_engines.graph.quantization import EIGHT_BITS
from build_engines.graph.storage import Storage

Array = npt.NDArray[np.float32]

_PACKED, _SCALES = ".packed", ".scales"


@dataclass(frozen=True)
class StoredWeights:
    """What one graph file holds.

    Attributes:
        path: of the graph.
        arrays: float32 by name; quantized ones are [rows, columns], the columns filled up to whole blocks.
        storage: the form in which most of them lie.
    """

    path: Path
    arrays: dict[str, Array]
    storage: Storage

    @classmethod
    def read(cls, path: Path) -> "StoredWeights":
        """Read a graph."""
        model = onnx.load(path)
        tensors = {t.name: t for t in model.graph.initializer if not t.name.startswith(f"{CONSTANT_STEM}_")}
        arrays = {}
        for name, tensor in tensors.items():
            if name.endswith(_PACKED):
                stem = name.removesuffix(_PACKED)
                packed, scales = (numpy_helper.to_array(tensors[part]) for part in (name, f"{stem}{_SCALES}"))
                arrays[stem] = EIGHT_BITS.dequantize(packed, scales, packed.shape[1] * packed.shape[2])
            elif not name.endswith(_SCALES):
                arrays[name] = numpy_helper.to_array(tensor).astype(np.float32)
        return cls(path, arrays, _storage_of(model, tensors))

    def get(self, name: str, *shape: int) -> Array:
        """Return one array in the shape that its network gives it; -1 takes what is there.

        Raises:
            CheckpointError: The graph does not hold it, or in another size.
        """
        if name not in self.arrays:
            raise CheckpointError(f"{self.path} does not hold the weight {name}; it is not a graph of this builder.")
        array = self.arrays[name]
        try:
            return array.reshape(-1, array.shape[-1])[:, : shape[-1]].reshape(shape)
        except ValueError as error:
            raise CheckpointError(
                f"{self.path} holds {name} as {list(array.shape)}, which is not {list(shape)}. Only bundles with the "
                "sizes of the default voice can be rebuilt by the command; pass others to `rebuild`."
            ) from error


def _storage_of(model: onnx.ModelProto, tensors: dict[str, TensorProto]) -> Storage:
    if any(node.op_type == "MatMulNBits" for node in model.graph.node):
        return Storage.INT8
    if any(name.endswith(_PACKED) for name in tensors):
        return Storage.PACKED
    is_narrow = any(tensor.data_type == TensorProto.FLOAT16 for tensor in tensors.values())
    return Storage.FLOAT16 if is_narrow else Storage.FLOAT32
