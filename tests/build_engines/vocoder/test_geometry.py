"""Delays and transforms of the vocoder."""

import dataclasses

import numpy as np
import pytest

from build_engines.graph.builder import GraphBuilder
from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.tiny import TINY_CODEC
from build_engines.vocoder.geometry import VocoderGeometry
from tests.build_engines.graph.graph_session import run_graph


def test_lookahead_of_the_default_voice() -> None:
    """Three blocks that see three sub-frames ahead and two hops of overlap make three frames of look-ahead."""
    geometry = VocoderGeometry(LatentCodecConfig())

    assert (9, 11, 3) == (geometry.tail_lag, geometry.sample_lag, geometry.lookahead_frames)


def test_matrices_equal_a_windowed_fourier_transform() -> None:
    """The analysis of even and odd sums is numpy's transform of the Hann window around its center."""
    geometry = VocoderGeometry(TINY_CODEC)
    half = geometry.half_samples
    graph = GraphBuilder("transform")
    sums = [graph.input(name, np.float32, ["N", half]) for name in ("even", "odd")]
    for name, total, matrix in zip(("real", "imaginary"), sums, geometry.analysis(graph), strict=True):
        graph.output(name, total @ matrix, ["N", TINY_CODEC.bins])
    samples = np.random.default_rng(0).standard_normal(2 * half).astype(np.float32)
    after, before = samples[half:], samples[half:0:-1]

    real, imaginary = run_graph(graph, even=(after + before)[None], odd=(after - before)[None])
    window = 0.5 - 0.5 * np.cos(np.pi * np.arange(2 * half) / half)
    expected = np.fft.rfft(samples * window) / (half / 2)
    np.testing.assert_allclose(real[0] + 1j * imaginary[0], expected, atol=1e-5)


def test_bins_that_do_not_fit_the_hop_are_refused() -> None:
    """A codec whose bins belong to another transform is refused with both numbers."""
    odd = dataclasses.replace(TINY_CODEC, bins=100)

    with pytest.raises(ValueError, match="has 100 bins, but a window of 4 hops of 60 samples has 121"):
        VocoderGeometry(odd)
