"""The source of voiced sound: a train of band-limited pulses whose phase runs on from call to call."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.value import Value
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.cuts import block
from build_engines.vocoder.geometry import VocoderGeometry
from build_engines.vocoder.stream_clock import StreamClock

VOICED_ABOVE_HZ = 40.0
HIGHEST_HARMONIC_HZ = 11_000.0
_NEAR_PULSE = 1e-3
_PHASE_UNITS = 1 << 24
"""Phase is carried in whole units, 2**-24 turns, whose sum does not depend on the order of adding."""


@dataclass(frozen=True)
class PulseTrain:
    """All harmonics below 11 kHz at amplitude 1: sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2, zero where unvoiced.

    Attributes:
        geometry: of the codec.
    """

    geometry: VocoderGeometry

    def render(self, f0_hz: Value, clock: StreamClock, lag: int, state: CarriedState) -> Value:
        """Render sub-frames that lie `lag` before the newest.

        Args:
            f0_hz: float32 [N, time + 2, 1, 1], from the pitch of the sub-frame before the first to that of the one
                after the last.
            clock: of the call.
            lag: of the middle pitch.
            state: carries the phase.

        Returns:
            float32 [N, time, 1, comb] samples, zero outside the segment and behind the hop.
        """
        graph, inside = f0_hz.graph, clock.inside[lag]
        pitch = self._knots(f0_hz, clock, lag) * inside @ self._interpolation()
        clear = graph.op("Max", [pitch, np.asarray(VOICED_ABOVE_HZ, np.float32)])
        phase = self._phase(clear, inside, state)
        harmonics = graph.op("Floor", [graph.op("Div", [np.asarray(HIGHEST_HARMONIC_HZ, np.float32), clear])])
        odd = harmonics * 2.0 + 1.0
        half_angle = (phase - graph.op("Round", [phase])) * math.pi
        ratio = graph.op("Sin", [half_angle * odd]) / graph.op("Sin", [half_angle])
        is_near = graph.op("Abs", [half_angle]) <= _NEAR_PULSE
        train = graph.where(is_near, odd, ratio) * 0.5 - 0.5
        return graph.where(pitch > VOICED_ABOVE_HZ, train, np.zeros(1, np.float32))

    def _knots(self, f0_hz: Value, clock: StreamClock, lag: int) -> Value:
        """Return the pitch of the sub-frame before, of the sub-frame itself and of the next, [N, time, 1, 3]."""
        graph, place = f0_hz.graph, clock.at(lag)
        before, here, after = (block(f0_hz, start, 2 - start, 0, 1) for start in range(3))
        first = graph.where(place <= 0, here, before)
        last = graph.where(place >= clock.end - 1, here, after)
        return graph.concat([first, here, last], 3)

    def _interpolation(self) -> npt.NDArray[np.float32]:
        """Return the weights [3, comb] of the three pitches at each sample; a sub-frame's pitch holds at its middle."""
        hop = self.geometry.config.hop_samples
        offset = (np.arange(hop) + 0.5) / hop - 0.5
        weights = np.zeros((3, self.geometry.comb_places), np.float32)
        weights[:, :hop] = np.maximum(-offset, 0), 1 - np.abs(offset), np.maximum(offset, 0)
        return weights

    def _phase(self, pitch: Value, inside: Value, state: CarriedState) -> Value:
        """Sum up pitches [N, time, 1, comb] in Hz; returns the phase in turns, which keeps its whole part."""
        graph, hop = pitch.graph, self.geometry.config.hop_samples
        running = graph.op("CumSum", [pitch, np.asarray(3)]) * (1.0 / self.geometry.config.sample_rate_hz)
        whole = running.slice(3, hop - 1, hop) * inside
        units = graph.op("Round", [(whole - graph.op("Floor", [whole])) * float(_PHASE_UNITS)]).cast(np.int64)
        carried = state.take(1).cast(np.int64)
        sums = graph.op("CumSum", [graph.concat([carried, units.squeeze(2, 3)], 1), np.asarray(1)]) % _PHASE_UNITS
        state.keep(state.at_count(sums, self.geometry.config.sub_frames).cast(np.float32))
        start = sums.slice(1, 0, -1).cast(np.float32).unsqueeze(2, 3) * (1.0 / _PHASE_UNITS)
        return start + running
