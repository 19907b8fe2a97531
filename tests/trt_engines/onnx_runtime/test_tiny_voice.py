"""The truths of the engine once more, on graphs as `build_engines` makes them: a stream is the same in any company."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.trt_engines.talker_script import Segment, prefill, speak_alone, speak_in_a_storm, step
from tests.trt_engines.vocoder_script import Spoken, random_cuts, vocode_together, vocode_whole
from trt_engines.base import Engine
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

SLOT_COUNT = 32
PARAMS = (0.7, 0.9, 0.7, 0.95)
BEGIN = (-1, 5, 0, 0, 0, 0, 0, 0)


@pytest.fixture(scope="module", params=["tiny_bundle", "eight_bit_bundle"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The tiny voice with float and with 8-bit weights, 32 slots on two threads."""
    engine = load_engine(request.getfixturevalue(request.param), EngineOptions(SLOT_COUNT, threads=2))
    yield engine
    engine.close()


def segment(slot: int, seed: int, phoneme_count: int = 20) -> Segment:
    """Random phonemes, then the row that begins the frames."""
    rows = np.full((phoneme_count + 1, len(BEGIN)), -1, np.int32)
    rows[:-1, 0] = np.random.default_rng(seed).integers(0, 178, phoneme_count)
    rows[-1] = BEGIN
    return Segment(slot, rows, seed, PARAMS)


def test_a_segment_ends_by_itself(engine: Engine) -> None:
    """The pointer goes over all phonemes, never back, and then the segment is done."""
    trace = speak_alone(engine.talker, segment(0, 1, 12), engine.manifest.step.max_frames)
    pointers = [pointer for _, _, _, pointer in trace]

    assert trace[-1][2]
    assert pointers == sorted(pointers)
    assert 11 == pointers[-1]


@pytest.mark.parametrize("chunk_rows", [1, 5, 16])
def test_chunks_of_the_prompt_do_not_matter(engine: Engine, chunk_rows: int) -> None:
    """Any chunk length gives the same frames."""
    whole = speak_alone(engine.talker, segment(0, 4, 50), 20)

    assert whole == speak_alone(engine.talker, segment(1, 4, 50), 20, chunk_rows)


def test_31_others_do_not_matter(engine: Engine) -> None:
    """A segment says the same alone and among 31 others, short and long ones, while the cache grows."""
    alone = [speak_alone(engine.talker, segment(slot, slot, 5 + 8 * slot), 12) for slot in range(0, SLOT_COUNT, 3)]
    together = [segment(slot, slot, 5 + 8 * slot) for slot in range(SLOT_COUNT)]
    prefill(engine.talker, together, 64)
    while running := [one for one in together if not one.is_done and len(one.trace) < 12]:
        step(engine.talker, running)
    for slot in range(SLOT_COUNT):
        engine.talker.release(slot)

    assert alone == [one.trace for one in together[::3]]


def test_joins_leaves_and_pauses_do_not_matter(engine: Engine) -> None:
    """Whoever joins, leaves, moves to another row or skips a step: each segment says what it says alone."""
    segments = [segment(index % 8, index, 3 + 5 * index % 61) for index in range(20)]
    speak_in_a_storm(engine.talker, segments, 10, 1)

    for one in segments:
        assert one.trace == speak_alone(engine.talker, segment(0, one.seed, len(one.row_ids) - 1), len(one.trace))


def test_samples_depend_neither_on_chunks_nor_on_company(engine: Engine) -> None:
    """32 segments in random chunks, side by side, sound as each does alone and whole, sample for sample."""
    random = np.random.default_rng(3)
    frames = [random.integers(0, 108, (1 + slot, 4)).astype(np.int32) for slot in range(SLOT_COUNT)]
    together = [Spoken(slot, part, slot, random_cuts(len(part), slot)) for slot, part in enumerate(frames)]
    vocode_together(engine.vocoder, together)

    for one in together:
        assert len(one.frames) * engine.vocoder.samples_per_frame == len(one.samples)
        assert np.array_equal(vocode_whole(engine.vocoder, one.frames, one.seed), one.samples)
