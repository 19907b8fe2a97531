"""What the policy simulation runs on: costs instead of networks, listeners instead of people, arrivals from a seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from server.pacing import PlaybackClock

FRAME_S = 0.05
FIRST_FRAMES, LARGEST_FRAMES, LOOKAHEAD_FRAMES = 2, 8, 3
ROWS_PER_FRAME = 1.3  # phonemes of a prompt for each frame that they become
SILENCE_S = 0.02  # a shorter gap is not heard as one


@dataclass(frozen=True)
class Costs:
    """Seconds that the engine takes: for a call, and for each item in it."""

    name: str
    step_s: tuple[float, float]
    prefill_s: tuple[float, float]
    vocode_s: tuple[float, float]
    slot_count: int

    def step(self, rows: int) -> float:
        """One frame for each of these rows."""
        return self.step_s[0] + self.step_s[1] * rows

    def prefill(self, rows: int) -> float:
        """That many prompt rows, of however many prompts."""
        return self.prefill_s[0] + self.prefill_s[1] * rows

    def vocode(self, frames: int) -> float:
        """That many frames, of however many utterances."""
        return self.vocode_s[0] + self.vocode_s[1] * frames


@dataclass
class Listener:
    """An utterance that somebody wants to hear: when it was asked for, its segments in frames, and how it went."""

    arrival_s: float
    segments: Sequence[int]
    clock: PlaybackClock = field(default_factory=PlaybackClock)
    first_audio_s: float | None = None
    silence_s: float = 0.0
    most_ahead_s: float = 0.0
    """The most audio sent and not yet played: what was made in vain if the listener interrupts then."""
    is_refused: bool = False

    @property
    def frames(self) -> int:
        """Frames of the whole utterance."""
        return sum(self.segments)

    @property
    def ttfa_s(self) -> float:
        """From the request to the first sound; endless if there was none."""
        return float("inf") if self.first_audio_s is None else self.first_audio_s - self.arrival_s

    @property
    def is_broken(self) -> bool:
        """Whether the listener heard a gap."""
        return self.silence_s > SILENCE_S

    def hear(self, now_s: float, frames: int) -> None:
        """Be given audio."""
        if self.first_audio_s is None:
            self.first_audio_s = now_s
        else:
            self.silence_s += max(0.0, now_s - self.clock.end_s)
        self.clock.deliver(now_s, frames * FRAME_S)
        self.most_ahead_s = max(self.most_ahead_s, self.clock.lead_s(now_s))


def arrivals(streams: float, seconds: float, seed: int) -> list[Listener]:
    """Return Poisson arrivals that keep about `streams` listeners at once, of one to four sentences each."""
    chance = random.Random(seed)
    mean_s = 2.5 * 60 * FRAME_S
    listeners, now_s = list[Listener](), 0.0
    while (now_s := now_s + chance.expovariate(streams / mean_s)) < seconds:
        segments = [chance.randint(25, 95) for _ in range(chance.randint(1, 4))]
        listeners.append(Listener(now_s, segments))
    return listeners
