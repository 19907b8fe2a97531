"""How the weights of a graph lie on disk and in memory."""

from enum import StrEnum


class Storage(StrEnum):
    """Where precision is given up, and where it is not.

    FLOAT32 keeps everything.
    FLOAT16 halves the file; the weights become float32 again when the graph is loaded.
    PACKED takes a quarter: 8 bits in blocks of 64 that share a scale, float32 again when the graph is loaded.
    INT8 takes a quarter too, and multiplies by the 8 bits themselves (MatMulNBits): the fastest for small batches on a
    CPU, not standard ONNX.

    PACKED and INT8 leave small matrices as float16.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    PACKED = "packed"
    INT8 = "int8"
