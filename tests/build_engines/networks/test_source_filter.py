"""The renderer against the teacher's own, and the pulse train against a sum of cosines."""

import numpy as np
import pytest
import torch
from hibari import dsp

from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.networks.source_filter import SourceFilter

FRAMES = 60


class FixedNoise:
    """Stands in for the generator that the teacher's renderer draws its noise from."""

    def __init__(self, noise: np.ndarray[tuple[int, ...], np.dtype[np.complex64]]) -> None:
        self.noise = noise

    def standard_normal(self, shape: tuple[int, int], dtype: type) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """Return the noise as the renderer wants it: real and imaginary parts side by side."""
        return np.ascontiguousarray(self.noise).view(np.float32).reshape(shape).astype(dtype)


def pitch(frames: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """A gliding pitch with an unvoiced stretch."""
    f0_hz = 150 + 60 * np.sin(np.arange(frames) / 9)
    f0_hz[20:30] = 0
    return f0_hz.astype(np.float32)


def test_inner_samples_equal_the_teacher() -> None:
    """Away from the edges, where the teacher mirrors and normalizes, both renderers give the same samples."""
    random, config = np.random.default_rng(0), LatentCodecConfig()
    spectra = random.standard_normal((5, config.bins, FRAMES)).astype(np.float32)
    spectra[[0, 2, 3]] -= 4
    noise = (random.standard_normal((config.bins, FRAMES)) + 1j * random.standard_normal((config.bins, FRAMES))).astype(
        np.complex64
    )

    expected = dsp.synth(*spectra, pitch(FRAMES), FixedNoise(noise))
    parts = torch.from_numpy(spectra.transpose(2, 0, 1).reshape(1, FRAMES, -1))
    rendered = SourceFilter(config)(parts, torch.from_numpy(pitch(FRAMES))[None], torch.from_numpy(noise.T)[None])
    inner = slice(3 * config.hop_samples, -3 * config.hop_samples)
    np.testing.assert_allclose(rendered[0].numpy()[inner], expected[inner], atol=2e-4)


def test_pulses_are_all_harmonics_below_eleven_kilohertz() -> None:
    """At a constant pitch the train is the sum of cosines of every harmonic, at amplitude one."""
    config, f0_hz = LatentCodecConfig(), 207.0
    train = SourceFilter(config).pulses(torch.full((1, 4), f0_hz))[0].numpy()
    turns = f0_hz / config.sample_rate_hz * np.arange(1, len(train) + 1)
    expected = sum(np.cos(2 * np.pi * harmonic * turns) for harmonic in range(1, 54))

    np.testing.assert_allclose(train, expected, atol=0.02)


def test_unvoiced_sound_has_no_pulses() -> None:
    """Without a pitch the train is silent."""
    assert SourceFilter(LatentCodecConfig()).pulses(torch.zeros(1, 5)).abs().max() == 0


def test_the_spectra_can_be_trained_through() -> None:
    """Gradients reach every part of the spectra."""
    config = LatentCodecConfig()
    spectra = torch.randn(1, 8, 5 * config.bins, requires_grad=True)
    noise = torch.randn(1, 8, config.bins, dtype=torch.complex64)

    SourceFilter(config)(spectra, torch.full((1, 8), 120.0), noise).square().mean().backward()
    assert spectra.grad is not None
    assert bool((spectra.grad.unflatten(-1, (5, -1)).abs().amax((0, 1, 3)) > 0).all())


@pytest.mark.parametrize("frames", [1, 2])
def test_short_sounds_have_their_length(frames: int) -> None:
    """Even a single frame renders to exactly its samples."""
    config = LatentCodecConfig()
    noise = torch.zeros(1, frames, config.bins, dtype=torch.complex64)

    rendered = SourceFilter(config)(torch.zeros(1, frames, 5 * config.bins), torch.zeros(1, frames), noise)
    assert rendered.shape == (1, frames * config.hop_samples)
