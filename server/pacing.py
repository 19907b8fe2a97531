"""The playback clock and the arithmetic of deadlines. Pure: moments are arguments, seconds on one clock.

Real-time speech has one deadline: the moment the listener runs out of audio. The listener is modelled as a player that
starts with the first chunk, never pauses, and waits when it has nothing to play.
"""

import math

_FIXED_SHARES = 4.0  # a batch may take this many times its fixed part, so that at most a quarter of it is overhead


class PlaybackClock:
    """What one listener has been given, and when that will have been played.

    Attributes:
        end_s: When the listener runs out of audio; minus infinity before the first chunk.
        delivered_s: Seconds of audio given so far.
    """

    __slots__ = ("delivered_s", "end_s")

    def __init__(self) -> None:
        self.end_s = -math.inf
        self.delivered_s = 0.0

    def deliver(self, now_s: float, duration_s: float) -> None:
        """Give the listener `duration_s` more of audio; a listener who had run out starts to play it at once."""
        self.end_s = max(self.end_s, now_s) + duration_s
        self.delivered_s += duration_s

    def lead_s(self, now_s: float) -> float:
        """Return the seconds of audio given but not yet played."""
        return self.end_s - now_s if self.end_s > now_s else 0.0

    def played_s(self, now_s: float) -> float:
        """Return the seconds of audio played by now."""
        return self.delivered_s - self.lead_s(now_s)


def chunk_frames(first_frames: int, largest_frames: int, growth: float, chunk_index: int) -> int:
    """Return the length of a chunk on the ramp: a small one first, each next one `growth` times longer, up to a limit.

    Args:
        first_frames: Length of chunk 0 in frames.
        largest_frames: No chunk is longer.
        growth: Factor from one chunk to the next, at least 1.
        chunk_index: Chunks since the listener last had nothing.
    """
    # The exponent is capped because a long utterance would overflow the float, long after the limit has been reached.
    return max(1, min(largest_frames, int(first_frames * growth ** min(chunk_index, 32))))


class LinearCost:
    """How long a batch takes: a fixed part plus a part per item, learned from what was measured.

    Old measurements fade, so the estimate follows a machine that becomes faster or busier. A measurement far above the
    estimate is a hiccup of the machine more often than a new truth; it counts as twice the estimate.
    """

    __slots__ = ("_decay", "_fixed_s", "_per_item_s", "_sums")

    def __init__(self, fixed_s: float, per_item_s: float, memory: int = 64) -> None:
        self._fixed_s = fixed_s
        self._per_item_s = per_item_s
        self._decay = 1.0 - 1.0 / memory
        self._sums = (0.0, 0.0, 0.0, 0.0, 0.0)

    def seconds(self, count: int) -> float:
        """Return the expected time of a batch of `count` items."""
        return self._fixed_s + self._per_item_s * count

    def count_within(self, budget_s: float) -> int:
        """Return how many items fit into `budget_s`, 0 if not even the fixed part does."""
        if budget_s <= self._fixed_s:
            return 0
        return int(min(1e6, (budget_s - self._fixed_s) / max(self._per_item_s, 1e-9)))

    def sensible_count(self, budget_s: float) -> int:
        """Return how many items to put into a batch that should take `budget_s`, at least 1.

        Where the fixed part is large, a batch may take longer, or most of the time would go into fixed parts.
        """
        return max(1, self.count_within(max(budget_s, _FIXED_SHARES * self._fixed_s)))

    def observe(self, count: int, seconds: float) -> None:
        """Learn from a batch of `count` items that took `seconds`."""
        old_weight, old_x, old_y, old_xx, old_xy = self._sums
        y = min(seconds, 2.0 * self.seconds(count)) if old_weight > 1.0 else seconds
        decay = self._decay
        weight, sum_x, sum_y = old_weight * decay + 1.0, old_x * decay + count, old_y * decay + y
        sum_xx, sum_xy = old_xx * decay + count * count, old_xy * decay + count * y
        self._sums = (weight, sum_x, sum_y, sum_xx, sum_xy)
        mean_x, mean_y = sum_x / weight, sum_y / weight
        variance = sum_xx / weight - mean_x * mean_x
        if variance > 0.25:  # else every batch was of one size, and says nothing about the slope
            self._per_item_s = max(0.0, (sum_xy / weight - mean_x * mean_y) / variance)
        self._per_item_s = min(self._per_item_s, mean_y / max(mean_x, 1.0))
        self._fixed_s = mean_y - self._per_item_s * mean_x
