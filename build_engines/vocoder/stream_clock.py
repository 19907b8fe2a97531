"""Where in its segment every step of a call lies."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.value import Value
from build_engines.vocoder.carried_state import CarriedState

_FAR = 1 << 24
"""An end that is never reached: frames are counted in float32, exactly, up to here."""


@dataclass(frozen=True)
class StreamClock:
    """Sub-frame numbers of one call, counted from the start of each item's segment.

    Attributes:
        newest: int64 [N, time], the sub-frames that the decoder makes in this call.
        end: int64 [N, 1], the first sub-frame behind the segment, far away while it is not known.
    """

    newest: Value
    end: Value

    @classmethod
    def of(
        cls, graph: GraphBuilder, state: CarriedState, frames: Value, count: Value, is_last: Value, sub_frames: int
    ) -> "StreamClock":
        """Read the frame counter of the state, and advance it by `count` int64 [N]."""
        counted = state.take(1)
        state.keep(counted + count.cast(np.float32).unsqueeze(1))
        seen = counted.cast(np.int64)
        steps = graph.arange(graph.size(frames, 1) * sub_frames).unsqueeze(0)
        end = graph.where(is_last.unsqueeze(1), seen + count.unsqueeze(1), np.asarray(_FAR))
        return cls(seen * sub_frames + steps, end * sub_frames)

    def at(self, lag: int) -> Value:
        """Return the sub-frames int64 [N, time] that lie `lag` before the newest."""
        return self.newest - lag

    def inside(self, lag: int) -> Value:
        """Return 1 where the sub-frame `lag` before the newest belongs to the segment, else 0, float32 [N, time, 1]."""
        place = self.at(lag)
        return ((place >= 0) & (place < self.end)).cast(np.float32).unsqueeze(-1)
