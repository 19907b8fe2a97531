"""Where in its segment every step of a call lies."""

from collections.abc import Mapping, Sequence
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
        newest: int64 [N, time, 1, 1], the sub-frames that the decoder makes in this call.
        end: int64 [N, 1, 1, 1], the first sub-frame behind the segment, far away while it is not known.
        inside: by lag, float32 [N, time, 1, 1]: 1 where the sub-frame so long before the newest belongs to the segment,
            else 0.
    """

    newest: Value
    end: Value
    inside: Mapping[int, Value]

    @classmethod
    def of(
        cls,
        graph: GraphBuilder,
        state: CarriedState,
        frames: Value,
        ending: tuple[Value, Value],
        sub_frames: int,
        lags: Sequence[int],
    ) -> "StreamClock":
        """Read the frame counter of the state, and advance it.

        Args:
            graph: to which nodes are added.
            state: carries the counter.
            frames: [N, frames, ...].
            ending: int64 [N], the valid frames; bool [N], whether the segment ends with them.
            sub_frames: of one frame.
            lags: of `inside`.
        """
        count, is_last = ending
        counted = state.take(1)
        state.keep(counted + count.cast(np.float32).unsqueeze(1))
        seen = counted.cast(np.int64)
        end = graph.where(is_last.unsqueeze(1), seen + count.unsqueeze(1), np.asarray(_FAR)) * sub_frames
        times = graph.arange(graph.size(frames, 1) * sub_frames).unsqueeze(0)
        newest, end = (seen * sub_frames + times).unsqueeze(2, 3), end.unsqueeze(2, 3)
        places = newest - np.asarray(lags)
        inside = ((places >= 0) & (places < end)).cast(np.float32)
        return cls(newest, end, dict(zip(lags, graph.split(inside, [1] * len(lags), 3), strict=True)))

    def at(self, lag: int) -> Value:
        """Return the sub-frames int64 [N, time, 1, 1] that lie `lag` before the newest."""
        return self.newest - lag
