"""Spectra and pitch in, samples out: the filter of every window applied to pulses and noise, then overlap and add."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.value import Value
from build_engines.networks.latent_codec_config import SPECTRUM_PARTS
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.geometry import HOPS_PER_WINDOW, VocoderGeometry
from build_engines.vocoder.noise import NoiseTable
from build_engines.vocoder.pulses import PulseTrain
from build_engines.vocoder.stream_clock import StreamClock
from build_engines.vocoder.turns import centered, cosine_sine

_LOUDEST = 7.0
_PER_RADIAN = 1.0 / (2.0 * np.pi)


@dataclass(frozen=True)
class SourceFilter:
    """S = exp(lh) e^(i pi tanh(theta)) STFT(pulses) + exp(ln) noise + exp(lr) e^(i phi), inverted by overlap-add.

    Attributes:
        geometry: of the codec.
    """

    geometry: VocoderGeometry

    def render(self, spectra: Value, f0_hz: Value, seed: Value, clock: StreamClock, state: CarriedState) -> Value:
        """Return samples float32 [N, time * hop], `sample_lag` sub-frames after the newest.

        Args:
            spectra: float32 [N, time, 5 * bins] of the sub-frames `tail_lag` before the newest.
            f0_hz: float32 [N, time, 1] of the newest sub-frames.
            seed: int64 [N], of the noise.
            clock: of the call.
            state: carries pitch, phase, pulses and overlapping windows.
        """
        graph, lag, bins = spectra.graph, self.geometry.tail_lag, self.geometry.config.bins
        source = self._source(f0_hz, clock, state)
        parts = graph.split(spectra, [bins] * SPECTRUM_PARTS, -1)
        noise = NoiseTable(bins).draw(seed, clock.at(lag))
        inside = clock.inside(lag)
        real, imaginary = (part * inside for part in _filtered(parts, source, noise))
        return self._overlapped(real, imaginary, state)

    def _source(self, f0_hz: Value, clock: StreamClock, state: CarriedState) -> tuple[Value, Value]:
        """Return the spectrum of the pulses around the sub-frames `tail_lag` before the newest."""
        config, lag = self.geometry.config, self.geometry.tail_lag
        pitch = state.join(f0_hz, lag, config.sub_frames, 1)
        near = [pitch.slice(1, start, start - lag) for start in range(3)]
        train = PulseTrain(config).render(f0_hz.graph.concat(near, -1), clock, lag - 1, state)
        joined = state.join(train, HOPS_PER_WINDOW - 1, config.sub_frames, config.hop_samples)
        return self._transform(_windows(joined))

    def _transform(self, windows: Value) -> tuple[Value, Value]:
        """Return real and imaginary parts [N, time, bins] of windows [N, time, 2 * half]."""
        half = self.geometry.half_samples
        after = windows.slice(-1, half)
        before = windows.graph.gather(windows, np.arange(half, 0, -1), axis=-1)
        even, odd = self.geometry.analysis(windows.graph)
        return (after + before) @ even, (after - before) @ odd

    def _overlapped(self, real: Value, imaginary: Value, state: CarriedState) -> Value:
        """Invert the windows and add what overlaps."""
        config, half, graph = self.geometry.config, self.geometry.half_samples, real.graph
        even_matrix, odd_matrix = self.geometry.synthesis(graph)
        even, odd = real @ even_matrix, imaginary @ odd_matrix
        before = graph.gather(even + odd, np.arange(half, 0, -1), axis=-1)
        after = (even - odd).slice(-1, 0, half)
        windows = graph.concat([before, after], -1)
        history, hop = HOPS_PER_WINDOW - 1, config.hop_samples
        joined = state.join(windows, history, config.sub_frames, HOPS_PER_WINDOW * hop)
        blocks = joined.slice(1, 0, -history).slice(-1, history * hop)
        for hops in range(history - 1, -1, -1):
            start = history - hops
            end = -hops if hops else None
            blocks = blocks + joined.slice(1, start, end).slice(-1, hops * hop, (hops + 1) * hop)
        return self._delayed(blocks, state).reshape(0, -1)

    def _delayed(self, blocks: Value, state: CarriedState) -> Value:
        """Delay blocks [N, time, hop] so that samples lag by whole frames."""
        config = self.geometry.config
        delay = self.geometry.lookahead_frames * config.sub_frames - self.geometry.sample_lag
        if delay == 0:
            return blocks
        return state.join(blocks, delay, config.sub_frames, config.hop_samples).slice(1, 0, -delay)


def _windows(blocks: Value) -> Value:
    """Lay each run of four hops [N, time + 3, hop] side by side as a window [N, time, 4 * hop]."""
    behind = [HOPS_PER_WINDOW - 1 - start for start in range(HOPS_PER_WINDOW)]
    cuts = [blocks.slice(1, start, -rest if rest else None) for start, rest in enumerate(behind)]
    return blocks.graph.concat(cuts, -1)


def _filtered(parts: list[Value], source: tuple[Value, Value], noise: tuple[Value, Value]) -> tuple[Value, Value]:
    """Return real and imaginary parts of the spectrum to invert."""
    harmonic, theta, noisy, free, phi = parts
    graph = harmonic.graph
    loudness, noise_loudness, free_loudness = (_magnitude(part) for part in (harmonic, noisy, free))
    cosine, sine = cosine_sine(graph.op("Tanh", [theta]) * 0.5)
    free_cosine, free_sine = cosine_sine(centered(phi * _PER_RADIAN))
    real = (source[0] * cosine - source[1] * sine) * loudness
    imaginary = (source[0] * sine + source[1] * cosine) * loudness
    real = real + noise[0] * noise_loudness + free_cosine * free_loudness
    return real, imaginary + noise[1] * noise_loudness + free_sine * free_loudness


def _magnitude(log_magnitude: Value) -> Value:
    graph = log_magnitude.graph
    return graph.op("Exp", [graph.op("Min", [log_magnitude, np.asarray(_LOUDEST, np.float32)])])
