"""How the weights of a graph lie on disk and in memory."""

from enum import StrEnum

from build_engines.graph.quantization import EIGHT_BITS, FOUR_BITS, BlockFormat


class Storage(StrEnum):
    """Where precision is given up, and where it is not.

    FLOAT32 keeps everything.
    FLOAT16 halves the file; the weights become float32 again when the graph is loaded.
    PACKED takes a quarter: 8 bits in blocks of 64 that share a scale, float32 again when the graph is loaded.
    INT8 takes a quarter too, and multiplies by the 8 bits themselves (MatMulNBits): the fastest for small batches on a
    CPU, not standard ONNX.
    INT4 does the same with 4 bits in blocks of 32, a sixth of the size; heads, which decide what is drawn, keep 8.

    Where blocks are kept, small matrices are float16. Tables that are only looked up are float16 in all but FLOAT32.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    PACKED = "packed"
    INT8 = "int8"
    INT4 = "int4"

    def product_format(self, shape: tuple[int, ...], *, is_head: bool = False) -> BlockFormat | None:
        """Return the blocks that a matrix of this shape is multiplied by as they are, or None: by floats."""
        if self is Storage.INT4 and not is_head:
            return FOUR_BITS if FOUR_BITS.is_worth_it(shape) else None
        if self in (Storage.INT8, Storage.INT4):
            return EIGHT_BITS if EIGHT_BITS.is_worth_it(shape) else None
        return None

    def restored_format(self, shape: tuple[int, ...]) -> BlockFormat | None:
        """Return the blocks that weights of this shape are kept in until the graph is loaded, or None: floats."""
        has_blocks = self in (Storage.PACKED, Storage.INT8, Storage.INT4)
        return EIGHT_BITS if has_blocks and EIGHT_BITS.is_worth_it(shape) else None
