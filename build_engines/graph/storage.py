"""How the weights of a graph lie on disk and in memory."""

from enum import StrEnum


class Storage(StrEnum):
    """Where precision is given up, and where it is not.

    FLOAT32 keeps everything. FLOAT16 halves the file; the weights become float32 again when the graph is loaded.
    INT8 quantizes the matrices of linear layers in blocks of 64 inputs (MatMulNBits) and stores the rest as float16.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT8 = "int8"
