"""Spectra and pitch in, samples out: the filter of every window applied to pulses and noise, then overlap and add."""

import math
from dataclasses import dataclass

from build_engines.graph.value import Value
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.cuts import steps
from build_engines.vocoder.geometry import VocoderGeometry
from build_engines.vocoder.noise import NoiseTable
from build_engines.vocoder.pulses import PulseTrain
from build_engines.vocoder.spectral_head import Spectra
from build_engines.vocoder.stream_clock import StreamClock
from build_engines.vocoder.transform import Transform

_LOUDEST, _SILENT = 7.0, -1e4


@dataclass(frozen=True)
class SourceFilter:
    """S = exp(lh) e^(i pi tanh(theta)) STFT(pulses) + exp(ln) noise + exp(lr) e^(i phi), inverted by overlap-add.

    Attributes:
        geometry: of the codec.
    """

    geometry: VocoderGeometry

    def render(self, spectra: Spectra, f0_hz: Value, seed: Value, clock: StreamClock, state: CarriedState) -> Value:
        """Return samples float32 [N, time * hop], `lookahead_frames` after the newest.

        Args:
            spectra: of the sub-frames `tail_lag` before the newest.
            f0_hz: float32 [N, time, 1, 1] of the newest sub-frames.
            seed: int64 [N], of the noise.
            clock: of the call.
            state: carries pitch, phase, pulses and overlapping windows.
        """
        lag, transform = self.geometry.tail_lag, Transform(self.geometry)
        pitch = state.join(f0_hz, lag, self.geometry.config.sub_frames, 1)
        train = PulseTrain(self.geometry).render(steps(pitch, 0, lag - 2), clock, lag - 1, state)
        source = transform.analyze(train, state)
        place = clock.at(lag).squeeze(2, 3)
        noise = NoiseTable(self.geometry.config.bins).draw(seed, place, self.geometry.combs)
        real, imaginary = _filtered(spectra, source, noise, clock.inside[lag])
        return transform.synthesize(real, imaginary, state).reshape(0, -1)


def _filtered(spectra: Spectra, source: tuple[Value, Value], noise: Value, inside: Value) -> tuple[Value, Value]:
    """Return real and imaginary parts of the spectrum to invert, silent where not `inside` the segment."""
    graph, ceiling = noise.graph, inside * (_LOUDEST - _SILENT) + _SILENT
    harmonic, noisy, free = (
        graph.op("Exp", [graph.op("Min", [level, ceiling])])
        for level in (spectra.harmonic, spectra.noisy, spectra.free)
    )
    angle = graph.op("Tanh", [spectra.theta]) * math.pi
    real, imaginary = harmonic * graph.op("Cos", [angle]), harmonic * graph.op("Sin", [angle])
    noises = graph.split(noise * noisy, [1, 1], 2)
    parts = (
        (source[0] * real - source[1] * imaginary, "Cos", noises[0]),
        (source[0] * imaginary + source[1] * real, "Sin", noises[1]),
    )
    added = (voiced + free * graph.op(kind, [spectra.phi]) + noised for voiced, kind, noised in parts)
    return next(added), next(added)
