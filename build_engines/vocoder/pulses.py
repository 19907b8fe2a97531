"""The source of voiced sound: a train of band-limited pulses whose phase runs on from call to call."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.value import Value
from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.stream_clock import StreamClock
from build_engines.vocoder.turns import centered, half_turn_sine, sine

VOICED_ABOVE_HZ = 40.0
HIGHEST_HARMONIC_HZ = 11_000.0
_NEAR_PULSE = 2e-3
_PHASE_UNITS = 1 << 24
"""Phase is carried in whole units, 2**-24 turns, whose sum does not depend on the order of adding."""


@dataclass(frozen=True)
class PulseTrain:
    """All harmonics below 11 kHz at amplitude 1: sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2, zero where unvoiced."""

    config: LatentCodecConfig

    def render(self, f0_hz: Value, clock: StreamClock, lag: int, state: CarriedState) -> Value:
        """Render sub-frames that lie `lag` before the newest.

        Args:
            f0_hz: float32 [N, time, 3], pitch of the sub-frame before, of the sub-frame itself and of the next.
            clock: of the call.
            lag: of the middle pitch.
            state: carries the phase.

        Returns:
            float32 [N, time, hop] samples, zero outside the segment.
        """
        graph = f0_hz.graph
        before, here, after = graph.split(f0_hz, [1, 1, 1], -1)
        place = clock.at(lag).unsqueeze(-1)
        before = graph.where(place <= 0, here, before)
        after = graph.where(place >= clock.end.unsqueeze(-1) - 1, here, after)
        weights = self._interpolation()
        pitch = before * weights[0] + here * weights[1] + after * weights[2]
        inside = clock.inside(lag)
        clear = graph.op("Max", [pitch, np.asarray(VOICED_ABOVE_HZ, np.float32)])
        phase = self._phase(clear * (1.0 / self.config.sample_rate_hz), inside, state)
        train = self._train(clear, phase)
        return graph.where(pitch > VOICED_ABOVE_HZ, train, np.zeros(1, np.float32)) * inside

    def _interpolation(self) -> npt.NDArray[np.float32]:
        """Return the weights [3, hop] of the three pitches at each sample; a sub-frame's pitch holds at its middle."""
        hop = self.config.hop_samples
        offset = (np.arange(hop) + 0.5) / hop - 0.5
        return np.stack([np.maximum(-offset, 0), 1 - np.abs(offset), np.maximum(offset, 0)]).astype(np.float32)

    def _phase(self, turns: Value, inside: Value, state: CarriedState) -> Value:
        """Sum up phase increments [N, time, hop]; returns the phase in turns, in [0, 1)."""
        graph = turns.graph
        running = turns @ np.triu(np.ones((self.config.hop_samples,) * 2, np.float32))
        whole = running.slice(-1, -1) * inside
        units = graph.op("Round", [(whole - graph.op("Floor", [whole])) * float(_PHASE_UNITS)]).cast(np.int64)
        carried = state.take(1).cast(np.int64)
        sums = graph.op("CumSum", [graph.concat([carried, units.squeeze(-1)], 1), np.asarray(1)]) % _PHASE_UNITS
        state.keep(state.at_count(sums, self.config.sub_frames).cast(np.float32))
        start = sums.slice(1, 0, -1).cast(np.float32).unsqueeze(-1) * (1.0 / _PHASE_UNITS)
        phase = start + running
        return phase - graph.op("Floor", [phase])

    def _train(self, pitch: Value, phase: Value) -> Value:
        graph = pitch.graph
        harmonics = graph.op("Floor", [graph.op("Div", [np.asarray(HIGHEST_HARMONIC_HZ, np.float32), pitch])]) + 0.5
        near = graph.op("Abs", [half_turn_sine(centered(phase))]) * 2.0
        is_near = near <= _NEAR_PULSE
        ratio = sine(centered(harmonics * phase)) / graph.where(is_near, np.ones(1, np.float32), near)
        return graph.where(is_near, harmonics, ratio) - 0.5
