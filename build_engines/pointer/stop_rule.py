"""Where the pointer may go, and when speech ends."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.value import Value
from build_engines.networks.pointer_talker_config import END_ADVANCE

HOLD_LIMIT = 24
"""0.6 s at 20 Hz, just beyond what the talker was taught to count. The default voice holds no phoneme for longer than
0.45 s, pauses included, so that only a talker that has lost its way is pushed on, before silence is noticed."""
_BLOCKED = -1e9
_POINTER_STEPS = (0, 1, 1, 2, 0)


@dataclass(frozen=True)
class StopRule:
    """The rule of the `pointer` family; an advance is 1 or 2 (one phoneme on), 3 (two), 0 (none) or 4 (the end).

    Attributes:
        end_dwell: the end comes at the latest when the last phoneme has been held for more than this many half frames.
        min_frames: the end cannot be sampled before.
        hold_limit: any other phoneme is left when it has been held for more than this many half frames.
    """

    end_dwell: int
    min_frames: int
    hold_limit: int = HOLD_LIMIT

    def allowed(self, logits: Value, pointer: Value, dwell: Value, last: Value, frame_index: Value) -> Value:
        """Return advance logits [batch, 5] without the impossible; the other arguments are int64 [batch, 1]."""
        at_last, before_last = pointer >= last, pointer < last
        stuck = before_last & (dwell > self.hold_limit)
        early = (pointer < last - 1) | (frame_index < self.min_frames)
        blocked = logits.graph.concat([stuck, at_last, at_last, pointer >= last - 1, early], -1)
        return logits.graph.where(blocked, np.asarray(_BLOCKED, np.float32), logits)

    def move(self, advance: Value) -> Value:
        """Return how far the pointer moves by an advance [batch, 1], int64 [batch, 1]."""
        return advance.graph.gather(np.asarray(_POINTER_STEPS), advance)

    def held(self, advance: Value, dwell: Value) -> Value:
        """Return the dwell int64 [batch, 1] after an advance [batch, 1]."""
        graph = advance.graph
        held = graph.where(advance.equals(1), np.asarray(1), dwell + 2)
        in_second_half = (advance >= 2) & (advance < END_ADVANCE)
        return graph.where(in_second_half, np.asarray(0), held)

    def done(self, advance: Value, pointer: Value, dwell: Value, last: Value) -> Value:
        """Return where speech has ended, bool [batch, 1], for pointer and dwell after the advance."""
        return advance.equals(END_ADVANCE) | ((pointer >= last) & (dwell > self.end_dwell))
