"""How many weights a step must read, whatever the batch."""

import math
from pathlib import Path

import onnx

_LOOK_UPS = ("Gather", "GatherElements")


def product_weight_count(graph: Path) -> int:
    """Return the number of stored numbers that some operator reads whole; tables of embeddings are only looked up in.

    The sizes are in the graph itself, so weights that lie in a file of their own are not read.
    """
    model = onnx.load(graph, load_external_data=False)
    read_whole = {name for node in model.graph.node if node.op_type not in _LOOK_UPS for name in node.input}
    read_whole |= {name for node in model.graph.node if node.op_type in _LOOK_UPS for name in node.input[1:]}
    return sum(math.prod(item.dims) for item in model.graph.initializer if item.name in read_whole)
