"""Sampling inside a graph: temperature, top-p, and the inverse of the cumulative distribution at one uniform number."""

import numpy as np

from build_engines.graph.value import Value

GREEDY_BELOW = 1e-4
LARGEST_TOP_COUNT = 50
"""ONNX Runtime's TopK slows down five-fold beyond this; a draw never falls outside the 50 likeliest."""


def sample(logits: Value, temperature: Value, top_p: Value, uniform: Value, value_count: int) -> Value:
    """Draw one value per row.

    Args:
        logits: float32 [batch, value_count].
        temperature: float32 [batch, 1]; below `GREEDY_BELOW` the likeliest value is taken.
        top_p: float32 [batch, 1]; likelier values are kept until their sum reaches it, the likeliest always.
        uniform: float32 [batch, 1] in [0, 1).
        value_count: the number of values.

    Returns:
        int64 [batch, 1].
    """
    graph = logits.graph
    warm = graph.op("Max", [temperature, np.asarray(GREEDY_BELOW, np.float32)])
    drawn = graph.where(temperature < GREEDY_BELOW, np.zeros(1, np.float32), uniform)
    probabilities = graph.op("Softmax", [logits / warm], axis=-1)
    count = min(value_count, LARGEST_TOP_COUNT)
    likeliest, values = graph.top(probabilities, count)
    # A product with a triangle of ones is the exclusive running sum, and faster than CumSum.
    before = likeliest @ np.triu(np.ones((count, count), np.float32), 1)
    kept = before < graph.op("Max", [top_p, np.asarray(np.finfo(np.float32).tiny, np.float32)])
    total = graph.where(kept, likeliest, np.zeros(1, np.float32)).sum(-1, keep=True)
    passed = (kept & (before <= drawn * total)).cast(np.int64)
    return graph.op("GatherElements", [values, passed.sum(-1, keep=True) - 1], axis=-1)
