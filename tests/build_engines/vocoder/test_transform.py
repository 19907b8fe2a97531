"""Transforms of windows, in both directions."""

import numpy as np
import numpy.typing as npt

from build_engines.graph.builder import GraphBuilder
from build_engines.tiny import TINY_CODEC
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.geometry import VocoderGeometry
from build_engines.vocoder.transform import Transform
from tests.build_engines.graph.graph_session import run_graph

GEOMETRY = VocoderGeometry(TINY_CODEC)
FRAMES = 3
HOPS = FRAMES * TINY_CODEC.sub_frames


def graph_of(kind: str, *inputs: str, width: int) -> GraphBuilder:
    """A graph with one of the two directions, its state included."""
    graph = GraphBuilder(kind)
    state = CarriedState(graph, graph.input("count", np.int64, ["N"]))
    values = [graph.input(name, np.float32, ["N", "T", 1, width]) for name in inputs]
    made = getattr(Transform(GEOMETRY), kind)(*values, state)
    for index, value in enumerate(made if isinstance(made, tuple) else (made,)):
        graph.output(f"out_{index}", value, ["N", "T", 1, "W"])
    state.finish()
    return graph


def run(graph: GraphBuilder, **inputs: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
    """Run all hops at once, from an empty state."""
    width = next(iter(graph.model().graph.input[-1].type.tensor_type.shape.dim[1:])).dim_value
    return run_graph(graph, count=np.asarray([FRAMES]), state=np.zeros((1, width), np.float32), **inputs)


def bins_of(spectrum: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Bring the two combs [1, time, 1, combs] into the order of bins, [time, bins]."""
    places = np.argsort(np.concatenate(GEOMETRY.combs), kind="stable")
    return spectrum[0, :, 0, places[: TINY_CODEC.bins]].T


def test_analysis_is_a_windowed_fourier_transform() -> None:
    """Each spectrum is numpy's transform of four hops under a Hann window."""
    hop, half = TINY_CODEC.hop_samples, GEOMETRY.half_samples
    train = np.zeros((1, HOPS, 1, GEOMETRY.comb_places), np.float32)
    train[..., :hop] = np.random.default_rng(0).standard_normal((1, HOPS, 1, hop))
    real, imaginary, _ = run(graph_of("analyze", "train", width=GEOMETRY.comb_places), train=train)

    samples = np.concatenate([np.zeros(3 * hop), train[0, :, 0, :hop].reshape(-1)])
    window = 0.5 - 0.5 * np.cos(np.pi * np.arange(2 * half) / half)
    for step in range(HOPS):
        expected = np.fft.rfft(samples[step * hop : step * hop + 2 * half] * window) / (half / 2)
        np.testing.assert_allclose(bins_of(real)[step] + 1j * bins_of(imaginary)[step], expected, atol=1e-5)


def test_synthesis_inverts_and_adds_up_what_overlaps() -> None:
    """The hops are those of numpy's inverse transforms under the same window; what fills a comb up is not heard."""
    hop, half = TINY_CODEC.hop_samples, GEOMETRY.half_samples
    random = np.random.default_rng(1)
    real, imaginary = (
        random.standard_normal((1, HOPS, 1, 2 * GEOMETRY.comb_places)).astype(np.float32) for _ in range(2)
    )
    graph = graph_of("synthesize", "real", "imaginary", width=2 * GEOMETRY.comb_places)
    samples = run(graph, real=real, imaginary=imaginary)[0].reshape(-1)

    window = 0.5 - 0.5 * np.cos(np.pi * np.arange(2 * half) / half)
    expected = np.zeros((HOPS + 4) * hop)
    for step, spectrum in enumerate(bins_of(real) + 1j * bins_of(imaginary)):
        expected[step * hop : step * hop + 2 * half] += np.fft.irfft(spectrum, 2 * half) * window / 1.5
    np.testing.assert_allclose(samples, expected[: HOPS * hop], atol=1e-6)
