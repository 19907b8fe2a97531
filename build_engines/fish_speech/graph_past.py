"""What the codec's causal layers see before the first frame of a call, as nodes of a graph.

Signals are float32 [N, channels, 1, time]: convolutions over two axes are those that ONNX Runtime computes fastest,
and computes alike wherever a frame lies in a call.
"""

from typing import Protocol

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.value import Value


class GraphPast(Protocol):
    """The frames before a call."""

    def before(self, signal: Value, history: int, rate: int, channels: int) -> Value:
        """Return [N, channels, 1, history + time]: `signal`, of `rate` steps a frame, with its past in front."""
        ...


class SilentPast:
    """Zeros, for graphs that see whole recordings."""

    def before(self, signal: Value, history: int, rate: int, channels: int) -> Value:
        """Put zeros in front."""
        del rate, channels
        if not history:
            return signal
        return signal.graph.op("Pad", [signal, np.asarray([0, 0, 0, history, 0, 0, 0, 0], np.int64)])


class StatePast:
    """Parts of the input `state`, in the order of the layers, for graphs that see a stream call by call."""

    def __init__(self, graph: GraphBuilder, count: Value) -> None:
        """Start with the number of valid frames int64 [N] of each item; later frames leave no trace in the state."""
        self._graph = graph
        self._count = count
        self._kept: list[Value] = []
        self.width = 0

    def before(self, signal: Value, history: int, rate: int, channels: int) -> Value:
        """Put the carried part in front, and carry on the last of both."""
        if not history:
            return signal
        graph, start = self._graph, self.width
        self.width += channels * history
        state = Value(graph, "state", np.dtype(np.float32))
        carried = state.slice(1, start, self.width).reshape(0, channels, 1, history)
        joined = graph.concat([carried, signal], 3)
        places = (self._count * rate).unsqueeze(1) + np.arange(history)[None]
        everywhere = graph.op("Expand", [places.unsqueeze(1, 2), graph.op("Shape", [carried], dtype=np.int64)])
        last = graph.op("GatherElements", [joined, everywhere], axis=3)
        self._kept.append(last.reshape(0, channels * history))
        return joined

    def finish(self) -> None:
        """Declare the graph's input `state` and its output `state_out`."""
        self._graph.input("state", np.float32, ["N", self.width])
        self._graph.output("state_out", self._graph.concat(self._kept, 1), ["N", self.width])
