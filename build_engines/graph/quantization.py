"""Block-wise 8-bit quantization of a matrix, in the layout of ONNX Runtime's MatMulNBits."""

import numpy as np
import numpy.typing as npt

from build_engines.graph.exact_scales import exact_scales

BLOCK_SIZE = 64
_SMALL_SIZE = 1 << 16
ZERO_POINT = 128
_LARGEST = 127


def is_worth_packing(shape: tuple[int, ...]) -> bool:
    """Say whether weights of this shape are to be quantized: small ones take no room, and often matter most."""
    return shape[-1] >= BLOCK_SIZE and int(np.prod(shape)) >= _SMALL_SIZE


def quantize_blocks(
    matrix: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Quantize [outputs, inputs], each run of 64 inputs with its own scale, symmetric around 128.

    Weights that were quantized before come back bit for bit, so that a graph can be rebuilt from what it holds.

    Returns:
        uint8 [outputs, blocks, 64] (inputs padded with zeros to whole blocks) and float32 scales [outputs, blocks].
    """
    outputs, inputs = matrix.shape
    padded = np.pad(matrix, ((0, 0), (0, -inputs % BLOCK_SIZE)))
    blocks = padded.reshape(outputs, -1, BLOCK_SIZE)
    scales = np.maximum(np.abs(blocks).max(-1), np.finfo(np.float32).tiny) / np.float32(_LARGEST)
    steps = np.rint(blocks / scales[..., None])
    return (steps + ZERO_POINT).astype(np.uint8), exact_scales(blocks, steps, scales)
