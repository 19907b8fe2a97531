"""Delays and transforms of the vocoder."""

import dataclasses

import numpy as np
import pytest

from build_engines.graph.builder import GraphBuilder
from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.tiny import TINY_CODEC
from build_engines.vocoder.geometry import VocoderGeometry
from tests.build_engines.graph.graph_session import run_graph


def test_delays_of_the_default_voice() -> None:
    """Three blocks that see three sub-frames ahead and two hops of overlap make three frames of look-ahead.

    The last block's output comes a sub-frame later than it could, so that samples lag by whole frames.
    """
    geometry = VocoderGeometry(LatentCodecConfig())

    assert (3, 9, 1) == (geometry.lookahead_frames, geometry.tail_reach, geometry.tail_delay)
    assert [0, 3, 6, 10] == geometry.block_lags


@pytest.mark.parametrize("codec", [LatentCodecConfig(), TINY_CODEC])
def test_combs_hold_every_bin_once_in_whole_vectors(codec: LatentCodecConfig) -> None:
    """Even bins, then odd ones; what fills up a comb is no bin."""
    geometry = VocoderGeometry(codec)
    places = np.concatenate(geometry.combs)

    assert list(range(codec.bins)) == sorted(places[places < codec.bins])
    assert 0 == geometry.comb_places % 16
    assert all(len(comb) == geometry.comb_places >= codec.hop_samples + 1 for comb in geometry.combs)


@pytest.mark.parametrize("kind", ["Sin", "Cos"])
def test_an_angle_does_not_depend_on_its_place(kind: str) -> None:
    """In whole vectors the same angle gives the same bits wherever it stands, so that a stream may be cut anywhere."""
    comb = VocoderGeometry(LatentCodecConfig()).comb_places
    graph = GraphBuilder("angles")
    graph.output("out", graph.op(kind, [graph.input("angles", np.float32, ["N", comb])]), ["N", comb])
    angles = np.random.default_rng(0).uniform(-9, 9, (37, comb)).astype(np.float32)

    whole = run_graph(graph, angles=angles)[0]
    for start, end in ((0, 1), (5, 12), (36, 37), (17, 37)):
        np.testing.assert_array_equal(run_graph(graph, angles=angles[start:end])[0], whole[start:end])


def test_bins_that_do_not_fit_the_hop_are_refused() -> None:
    """A codec whose bins belong to another transform is refused with both numbers."""
    odd = dataclasses.replace(TINY_CODEC, bins=100)

    with pytest.raises(ValueError, match="has 100 bins, but a window of 4 hops of 60 samples has 121"):
        VocoderGeometry(odd)
