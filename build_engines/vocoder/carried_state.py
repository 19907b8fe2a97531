"""One packed state vector per slot: what each layer of a streamed network must remember from one call to the next."""

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.value import Value


class CarriedState:
    """Hands out parts of the input `state` and collects what replaces them; the state of a new segment is zero.

    Parts are kept in the order in which they were taken.
    """

    def __init__(self, graph: GraphBuilder, count: Value) -> None:
        """Start with the number of valid frames int64 [N] of each item."""
        self._graph = graph
        self._count = count
        self._kept: list[Value] = []
        self.width = 0

    def take(self, width: int) -> Value:
        """Return the next part, float32 [N, width]; `keep` its successor before another part is taken."""
        start, self.width = self.width, self.width + width
        return Value(self._graph, "state", np.dtype(np.float32)).slice(1, start, self.width)

    def keep(self, successor: Value) -> None:
        """Set what replaces the part just taken, float32 [N, width]."""
        self._kept.append(successor)

    def join(self, fresh: Value, history: int, rate: int, channels: int) -> Value:
        """Put what is remembered of a signal before its new part, and remember the last of both.

        A call may hold fewer valid frames than it has room for, so what is remembered ends where they end.

        Args:
            fresh: float32 [N, time, channels], time = frames * rate.
            history: time steps to remember, at least one.
            rate: time steps of one frame.
            channels: channels of the signal.

        Returns:
            float32 [N, history + time, channels].
        """
        joined = self._graph.concat([self.take(history * channels).reshape(0, history, channels), fresh], 1)
        places = (self._count * rate).unsqueeze(1) + np.arange(history)[None]
        last = self._graph.op("GatherND", [joined, places.unsqueeze(-1)], batch_dims=1)
        self.keep(last.reshape(0, -1))
        return joined

    def at_count(self, sums: Value, rate: int) -> Value:
        """Return the value [N, 1] at the end of the valid frames of running sums [N, 1 + time]."""
        return self._graph.op("GatherElements", [sums, (self._count * rate).unsqueeze(1)], axis=1)

    def finish(self) -> None:
        """Declare the graph's input `state` and its output `state_out`."""
        self._graph.input("state", np.float32, ["N", self.width])
        self._graph.output("state_out", self._graph.concat(self._kept, 1), ["N", self.width])
