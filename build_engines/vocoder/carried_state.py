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
        self._places: dict[tuple[int, int], Value] = {}
        self._taken: list[Value] = []
        self._widths: list[int] = []
        self._kept: list[Value] = []

    @property
    def width(self) -> int:
        """Numbers taken so far."""
        return sum(self._widths)

    def take(self, width: int) -> Value:
        """Return the next part, float32 [N, width]; `keep` its successor before another part is taken."""
        self._taken.append(Value(self._graph, f"state.{len(self._taken)}", np.dtype(np.float32)))
        self._widths.append(width)
        return self._taken[-1]

    def keep(self, successor: Value) -> None:
        """Set what replaces the part just taken, float32 [N, width]."""
        self._kept.append(successor)

    def join(self, fresh: Value, history: int, rate: int, channels: int) -> Value:
        """Put what is remembered of a signal before its new part, and remember the last of both.

        A call may hold fewer valid frames than it has room for, so what is remembered ends where they end.

        Args:
            fresh: float32 [N, time, 1, channels], time = frames * rate.
            history: time steps to remember, at least one.
            rate: time steps of one frame.
            channels: channels of the signal.

        Returns:
            float32 [N, history + time, 1, channels].
        """
        joined = self._graph.concat([self.take(history * channels).reshape(0, history, 1, channels), fresh], 1)
        last = self._graph.op("GatherND", [joined, self._last_places(history, rate)], batch_dims=1)
        self.keep(last.reshape(0, -1))
        return joined

    def at_count(self, sums: Value, rate: int) -> Value:
        """Return the value [N, 1] at the end of the valid frames of running sums [N, 1 + time]."""
        return self._graph.op("GatherElements", [sums, (self._count * rate).unsqueeze(1)], axis=1)

    def finish(self) -> None:
        """Declare the graph's input `state` and its output `state_out`."""
        state = self._graph.input("state", np.float32, ["N", self.width])
        self._graph.cut_input(state, self._taken, self._widths, axis=1)
        self._graph.output("state_out", self._graph.concat(self._kept, 1), ["N", self.width])

    def _last_places(self, history: int, rate: int) -> Value:
        """Return the places int64 [N, history, 1] of the last valid steps and those before them."""
        if (history, rate) not in self._places:
            start = (self._count * rate).unsqueeze(1, 2)
            self._places[history, rate] = start + np.arange(history)[None, :, None]
        return self._places[history, rate]
