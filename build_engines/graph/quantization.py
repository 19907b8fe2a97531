"""Block-wise quantization of a matrix, in the layout of ONNX Runtime's MatMulNBits."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.exact_scales import exact_scales

_SMALL_SIZE = 1 << 16

Packed = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class BlockFormat:
    """Whole numbers in blocks along the inputs of a matrix; each block has a scale, and zero lies in the middle.

    Attributes:
        bits: of a number, 4 or 8. Two of 4 bits share a byte, the first one in its lower half.
        block_size: inputs that share a scale.
    """

    bits: int
    block_size: int

    @property
    def zero_point(self) -> int:
        """The number that stands for zero."""
        return 1 << (self.bits - 1)

    def is_worth_it(self, shape: tuple[int, ...]) -> bool:
        """Say whether weights of this shape are to be quantized: small ones take no room, and often matter most."""
        return shape[-1] >= self.block_size and int(np.prod(shape)) >= _SMALL_SIZE

    def quantize(self, matrix: Floats) -> tuple[Packed, Floats]:
        """Quantize a matrix [outputs, inputs]; what was quantized before comes back bit for bit.

        Returns:
            uint8 [outputs, blocks, bytes of a block] (inputs padded with zeros to whole blocks) and float32 scales
            [outputs, blocks].
        """
        blocks = self._blocks(matrix)
        scales = self._scales(blocks)
        least, largest = -self.zero_point, self.zero_point - 1
        steps = np.clip(np.rint(blocks / scales[..., None]), least, largest)
        return self._packed((steps + self.zero_point).astype(np.uint8)), exact_scales(blocks, steps, scales)

    def dequantize(self, packed: Packed, scales: Floats, inputs: int) -> Floats:
        """Return the matrix float32 [outputs, inputs] that `quantize` has kept."""
        numbers = packed if self.bits == 8 else np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:2], -1)
        blocks = (numbers.astype(np.float32) - np.float32(self.zero_point)) * scales[..., None]
        return np.ascontiguousarray(blocks.reshape(len(packed), -1)[:, :inputs])

    def _blocks(self, matrix: Floats) -> Floats:
        padded = np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % self.block_size)))
        return padded.reshape(len(matrix), -1, self.block_size)

    def _scales(self, blocks: Floats) -> Floats:
        """Return float32 scales [outputs, blocks].

        Of 8 bits the outermost two numbers are 127 steps from zero. Of 4 bits there are too few to waste the lowest:
        the weight farthest from zero, of either sign, becomes -8, which makes the error of random weights 11 % smaller.
        """
        far, tiny = np.abs(blocks).max(-1), np.finfo(np.float32).tiny
        if self.bits == 8:
            return np.maximum(far, tiny) / np.float32(self.zero_point - 1)
        is_positive = blocks.max(-1) == far
        return np.where(is_positive, -1, 1).astype(np.float32) * np.maximum(far, tiny) / np.float32(self.zero_point)

    def _packed(self, numbers: Packed) -> Packed:
        if self.bits == 8:
            return numbers
        joined: Packed = numbers[..., 0::2] | (numbers[..., 1::2] << np.uint8(4))
        return joined


EIGHT_BITS = BlockFormat(bits=8, block_size=64)
FOUR_BITS = BlockFormat(bits=4, block_size=32)
"""Wider blocks multiply a single row by another kernel than many, and what is said would depend on the company."""
