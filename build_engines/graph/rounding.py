"""What a storage leaves of weights, as float32 again: a network with these is what a graph must equal."""

import numpy as np
import numpy.typing as npt

from build_engines.graph.quantization import BlockFormat
from build_engines.graph.storage import Storage

Floats = npt.NDArray[np.float32]


def rounded_product(matrix: Floats, storage: Storage, *, is_head: bool = False) -> Floats:
    """Return what `layers.project` multiplies by, for a matrix [outputs, inputs]."""
    blocks = storage.product_format(matrix.shape, is_head=is_head)
    return rounded_weight(matrix, storage) if blocks is None else _through(blocks, matrix)


def rounded_weight(array: Floats, storage: Storage) -> Floats:
    """Return what `GraphBuilder.weight` leaves of an array."""
    if storage is Storage.FLOAT32 or array.ndim < 2:
        return array
    blocks = storage.restored_format(array.shape)
    return rounded_table(array, storage) if blocks is None else _through(blocks, array)


def rounded_table(array: Floats, storage: Storage) -> Floats:
    """Return what `GraphBuilder.lookup` leaves of a table."""
    return array if storage is Storage.FLOAT32 else array.astype(np.float16).astype(np.float32)


def _through(blocks: BlockFormat, array: Floats) -> Floats:
    matrix = array.reshape(-1, array.shape[-1])
    return blocks.dequantize(*blocks.quantize(matrix), matrix.shape[1]).reshape(array.shape)
