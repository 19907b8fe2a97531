"""The vocode and encode graphs on ONNX Runtime: equal to the original, and exact however a stream is cut."""

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from build_engines.fish_speech.encode import build_encode
from build_engines.fish_speech.vocode import CodecWeights, build_vocode
from build_engines.graph.builder import GraphBuilder

Array = np.ndarray[Any, Any]


def _session(graph: GraphBuilder) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(graph.model().SerializeToString(), options, providers=["CPUExecutionProvider"])


class Vocoder:
    """Runs a vocode graph call by call."""

    def __init__(self, weights: CodecWeights) -> None:
        graph = GraphBuilder("vocode")
        self.state_width = build_vocode(graph, weights)
        self.session = _session(graph)
        self.samples_per_frame = weights.config.samples_per_frame

    def run(self, frames: Array, state: Array, count: list[int] | None = None) -> tuple[Array, Array]:
        """Render frames [N, F, books]; returns samples and the next state."""
        item_count, frame_count, _ = frames.shape
        samples, after = self.session.run(
            ["samples", "state_out"],
            {
                "frames": frames.astype(np.int32),
                "count": np.array(count or [frame_count] * item_count, np.int32),
                "is_last": np.zeros(item_count, bool),
                "seed": np.zeros(item_count, np.int32),
                "state": state,
            },
        )
        return samples, after

    def zeros(self, item_count: int) -> Array:
        """Return the state before a segment."""
        return np.zeros((item_count, self.state_width), np.float32)

    def whole(self, frames: Array) -> Array:
        """Render frames [F, books] in one call."""
        return self.run(frames[None], self.zeros(1))[0][0]

    def cut(self, frames: Array, sizes: list[int]) -> Array:
        """Render frames [F, books] in calls of these sizes."""
        state, pieces = self.zeros(1), []
        for part in np.split(frames, np.cumsum(sizes)[:-1]):
            samples, state = self.run(part[None], state)
            pieces.append(samples[0])
        return np.concatenate(pieces)


@pytest.fixture(scope="module", params=["codec_tiny", "codec_full"])
def vocoder(vectors: Any, request: pytest.FixtureRequest) -> tuple[Vocoder, Array, Array]:
    """A vocoder of either size, recorded frames and the samples of the original."""
    arrays = vectors.arrays(f"{request.param}/decode")
    return Vocoder(CodecWeights.of(vectors.codec(request.param))), arrays["codes"].T, arrays["audio"]


def test_samples_equal_the_originals(vocoder: tuple[Vocoder, Array, Array]) -> None:
    """One call gives the samples of full decoding."""
    engine, frames, audio = vocoder
    np.testing.assert_allclose(engine.whole(frames), audio, atol=1e-5)


def test_samples_do_not_depend_on_how_a_stream_is_cut(vocoder: tuple[Vocoder, Array, Array]) -> None:
    """Any cut gives the samples of one call, bit for bit."""
    engine, frames, _ = vocoder
    frames = frames[:24]
    whole = engine.whole(frames)
    for sizes in ([1, 2, 3, 18], [8, 8, 8], [5] * 4 + [4]):
        np.testing.assert_array_equal(engine.cut(frames, sizes), whole)


def test_items_of_a_call_do_not_touch_each_other(vocoder: tuple[Vocoder, Array, Array]) -> None:
    """A shorter item beside a longer one gives what it gives alone, and its padding leaves no trace."""
    engine, frames, _ = vocoder
    short, long = frames[:3], frames[8:14]
    padded = np.concatenate([short, np.full((3, 8), 999)])
    samples, state = engine.run(np.stack([padded, long]), engine.zeros(2), [3, 6])
    cut = 3 * engine.samples_per_frame
    np.testing.assert_array_equal(samples[0, :cut], engine.whole(short))
    np.testing.assert_array_equal(samples[1], engine.whole(long))
    after = engine.run(frames[None, 3:6], state[:1])[0][0]
    np.testing.assert_array_equal(after, engine.whole(frames[:6])[cut:])


def test_state_has_the_size_that_the_architecture_implies(vectors: Any) -> None:
    """At the size of release 1.5 a stream carries 174,176 floats."""
    assert build_vocode(GraphBuilder("vocode"), CodecWeights.of(vectors.codec("codec_full"))) == 174_176


def test_codes_that_do_not_exist_are_rendered_as_the_last_that_does(vectors: Any) -> None:
    """An index of 1000 or more, which the talker's tables allow, breaks nothing."""
    engine = Vocoder(CodecWeights.of(vectors.codec("codec_tiny")))
    np.testing.assert_array_equal(engine.whole(np.full((2, 8), 1023)), engine.whole(np.full((2, 8), 999)))


@pytest.mark.parametrize("model", ["codec_tiny", "codec_full"])
def test_encode_graph_gives_the_originals_codes(vectors: Any, model: str) -> None:
    """Codes are identical, for a recording and for pieces of it that end anywhere."""
    graph = GraphBuilder("encode")
    build_encode(graph, CodecWeights.of(vectors.codec(model)))
    session = _session(graph)
    arrays = vectors.arrays(f"{model}/encode")
    samples = arrays["wav_int16"].astype(np.float32)[None] / 32768
    np.testing.assert_array_equal(session.run(None, {"samples": samples})[0][0].T, arrays["codes"])
    if model == "codec_tiny":
        lengths = vectors.arrays("codec_tiny/encode_lengths")
        for length in lengths["lengths"]:
            piece = samples[:, lengths["start"] : lengths["start"] + length]
            codes = session.run(None, {"samples": piece})[0]
            np.testing.assert_array_equal(codes[0].T, lengths[f"codes_{length}"])
