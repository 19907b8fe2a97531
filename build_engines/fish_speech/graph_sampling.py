"""`sampler.py` as nodes of a graph; the two are compared by the tests."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.value import Value

_LOWEST_TEMPERATURE = 1e-5
_DROPPED = -1e30


@dataclass(frozen=True)
class DrawParams:
    """How to draw, each float32 [batch, 1]."""

    temperature: Value
    top_p: Value
    repetition_penalty: Value


@dataclass(frozen=True)
class Repeats:
    """The recent past, whose ids are penalized.

    Attributes:
        history: int32 [batch, frames, columns], zeros where nothing was spoken yet.
        is_counted: bool [batch, 1]; false in the first step, which penalizes nothing.
    """

    history: Value
    is_counted: Value

    def of(self, column: int, ids: npt.NDArray[np.int32]) -> Value:
        """Return which of `ids` [ids] occur in one column, as bool [batch, ids]."""
        graph = self.history.graph
        occurs = graph.op("Equal", [self.history.slice(2, column, column + 1), ids[None, None]], dtype=np.bool_)
        times = occurs.cast(np.int32).sum(1)
        return (times > 0) & self.is_counted


def draw(logits: Value, repeated: Value, params: DrawParams, uniform: Value, id_count: int) -> Value:
    """Draw the position int64 [batch, 1] of an id.

    Args:
        logits: float32 [batch, id_count].
        repeated: bool [batch, id_count], the ids to penalize.
        params: penalty, top-p and temperature, applied in this order.
        uniform: float32 [batch, 1] in [0, 1).
        id_count: the number of ids.
    """
    graph = logits.graph
    penalty = params.repetition_penalty
    lowered = graph.where(logits < 0.0, logits * penalty, logits / penalty)
    ranked, order = graph.top(graph.where(repeated, lowered, logits), id_count)
    is_first = (np.arange(id_count) == 0)[None]
    within = _running_sum(graph.op("Softmax", [ranked], axis=-1)) <= params.top_p
    kept = within | graph.constant(is_first) | (params.top_p >= 1.0)
    warm = graph.op("Max", [params.temperature, np.asarray(_LOWEST_TEMPERATURE, np.float32)])
    scaled = graph.where(kept, ranked / warm, np.asarray(_DROPPED, np.float32))
    cumulative = _running_sum(graph.op("Softmax", [scaled], axis=-1))
    reached = cumulative <= uniform * cumulative.slice(1, -1)
    # Rounding could step past the last id that was kept; the smaller of both counts brings it back.
    counts = [found.cast(np.int64).sum(-1, keep=True) for found in (reached, kept)]
    place = graph.op("Min", [counts[0], counts[1] - 1])
    return graph.op("GatherElements", [order, place], axis=-1)


def _running_sum(values: Value) -> Value:
    return values.graph.op("CumSum", [values, np.asarray(1, np.int64)])
