"""The talker on ONNX Runtime: what a stream says depends on nothing but the stream."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.trt_engines.small_bundle import NAN_ID
from tests.trt_engines.talker_script import Segment, is_error, prefill, speak_alone, speak_in_a_storm, step
from trt_engines.base import PrefillChunk, StepRequest
from trt_engines.errors import EngineError
from trt_engines.manifest_loading import load_manifest
from trt_engines.onnx_runtime.kv_memory import QUANTUM_POSITIONS
from trt_engines.onnx_runtime.lanes import Lanes
from trt_engines.onnx_runtime.talker import OrtTalker

SLOT_COUNT = 32


@pytest.fixture
def talker(small_bundle: Path) -> Iterator[OrtTalker]:
    """A talker with 32 slots on two lanes."""
    lanes = Lanes(2, "test")
    yield OrtTalker(small_bundle, load_manifest(small_bundle), SLOT_COUNT, lanes)
    lanes.close()


def prompt(seed: int, row_count: int) -> NDArray[np.int32]:
    """Random ids; the pointer starts at 0."""
    ids = np.random.default_rng(seed).integers(0, NAN_ID, row_count)
    return np.stack([ids, np.zeros_like(ids)], 1).astype(np.int32)


def segment(slot: int, seed: int, row_count: int = 20) -> Segment:
    """A segment of a slot."""
    return Segment(slot, prompt(seed, row_count), seed, (1.0 + seed % 3,))


def test_a_segment_is_spoken_to_its_end(talker: OrtTalker) -> None:
    """The pointer runs over the prompt, and the frame on which the segment is done is not emitted."""
    trace = speak_alone(talker, segment(0, 1, 7), 100)

    assert [True] * 11 + [False] == [emit for _, emit, _, _ in trace]
    assert [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6] == [pointer for _, _, _, pointer in trace]


def test_seed_and_parameters_decide_what_is_said(talker: OrtTalker) -> None:
    """The same again is the same again; another seed or parameter is something else."""
    same = [speak_alone(talker, segment(slot, 1), 30) for slot in (0, 5)]
    other_seed = speak_alone(talker, Segment(0, prompt(1, 20), 2, (2.0,)), 30)
    other_heat = speak_alone(talker, Segment(0, prompt(1, 20), 1, (0.1,)), 30)

    assert same[0] == same[1]
    assert same[0] != other_seed
    assert same[0] != other_heat


@pytest.mark.parametrize("chunk_rows", [1, 2, 7, 8, 33])
def test_chunks_of_the_prompt_do_not_matter(talker: OrtTalker, chunk_rows: int) -> None:
    """Any chunk length gives the same frames, bit for bit."""
    whole = speak_alone(talker, segment(0, 4, 60), 40)

    assert whole == speak_alone(talker, segment(1, 4, 60), 40, chunk_rows)


def test_31_others_do_not_matter(talker: OrtTalker) -> None:
    """A segment says the same alone and among 31 others, in any row."""
    alone = [speak_alone(talker, segment(slot, slot, 5 + slot), 20) for slot in range(SLOT_COUNT)]
    together = [segment(slot, slot, 5 + slot) for slot in range(SLOT_COUNT)]
    prefill(talker, together[::-1], 16)
    for _ in range(20):
        step(talker, [one for one in together if not one.is_done])

    assert alone == [one.trace for one in together]


@pytest.mark.parametrize("storm", range(2))
def test_joins_leaves_and_pauses_do_not_matter(talker: OrtTalker, storm: int) -> None:
    """Whoever joins, leaves, moves to another row or skips a step: each segment says what it says alone."""
    segments = [segment(index % 12, 100 * storm + index, 3 + 5 * index % 61) for index in range(40)]
    speak_in_a_storm(talker, segments, 20, storm)

    for one in segments:
        alone = speak_alone(talker, Segment(0, one.row_ids, one.seed, one.params), len(one.trace))
        assert alone[: len(one.trace)] == one.trace


def test_growing_and_shrinking_the_cache_does_not_matter(talker: OrtTalker) -> None:
    """A short segment says the same while a long neighbor makes the cache grow, and after it has shrunk again."""
    alone = speak_alone(talker, segment(0, 8, 120), 230)
    assert QUANTUM_POSITIONS * 6 == talker.cache_capacity

    short, long = segment(0, 8, 120), segment(1, 9, 60)
    prefill(talker, [short], 64)
    for _ in range(3):
        step(talker, [short])
    prefill(talker, [long, segment(2, 3, 300)], 64)
    for _ in range(60):
        step(talker, [short, long])
    talker.release(2)
    while not short.is_done and len(short.trace) < 230:
        step(talker, [short])

    assert alone == short.trace


def test_the_cache_shrinks_when_long_segments_have_gone(talker: OrtTalker) -> None:
    """Capacity is given back after some hundred short steps, not at once."""
    prefill(talker, [segment(0, 1, 390)], 64)
    speak_alone(talker, segment(1, 2, 3), 1)
    grown = talker.cache_capacity
    talker.release(0)
    capacities = []
    for seed in range(30):
        speak_alone(talker, segment(1, seed, 8), 20)
        capacities.append(talker.cache_capacity)

    assert QUANTUM_POSITIONS * 7 == grown == capacities[0]
    assert QUANTUM_POSITIONS == capacities[-1]


def test_a_slot_that_is_not_finite_fails_alone(talker: OrtTalker) -> None:
    """Its neighbors say what they say alone, and the slot can be used again."""
    alone = speak_alone(talker, segment(0, 5), 20)
    healthy, sick = segment(0, 5), segment(1, 6)
    sick.row_ids[3, 0] = NAN_ID
    prefill(talker, [sick, healthy], 64)
    results = []
    for _ in range(20):
        results.append(talker.step([sick.request()])[0])
        step(talker, [healthy])
    talker.release(1)

    assert all(is_error(result) for result in results)
    assert "not finite for slot 1; release it" in str(results[0])
    assert alone == healthy.trace
    assert alone == speak_alone(talker, Segment(1, healthy.row_ids, 5, healthy.params), 20)


def test_nan_in_a_step_fails_the_slot_from_then_on(talker: OrtTalker) -> None:
    """What a step writes is checked as well, and a failed slot stays failed."""
    sick = segment(0, 5)
    sick.row_ids[-1, 0] = NAN_ID
    prefill(talker, [sick], 64)

    assert [True, True] == [is_error(talker.step([sick.request()])[0]) for _ in range(2)]


def test_a_full_slot_fails_alone(talker: OrtTalker) -> None:
    """At the last position the slot ends with a sentence; its neighbor goes on."""
    full, other = segment(0, 1, 399), segment(1, 2)
    prefill(talker, [full, other], 64)
    results = []
    for _ in range(3):
        results.append(talker.step([full.request()])[0])
        step(talker, [other])

    assert [False, False, True] == [is_error(result) for result in results]
    assert "Slot 0 has filled all 400 positions" in str(results[-1])
    assert speak_alone(talker, segment(2, 2), 3) == other.trace


def test_nothing_to_do_is_no_trouble(talker: OrtTalker) -> None:
    """Empty calls return at once."""
    talker.prefill([])

    assert [] == talker.step([])


def test_a_prompt_of_one_row_needs_no_prefill(talker: OrtTalker) -> None:
    """Its row is the first step's input."""
    assert 1 == len(speak_alone(talker, segment(0, 1, 1), 100))


def test_a_chunk_at_zero_starts_a_slot_anew(talker: OrtTalker) -> None:
    """What the slot held before is forgotten."""
    alone = speak_alone(talker, segment(0, 5), 20)
    prefill(talker, [segment(0, 9, 50), segment(1, 8)], 64)

    assert alone == speak_alone(talker, segment(0, 5), 20)


def test_releasing_twice_does_nothing(talker: OrtTalker) -> None:
    """A free slot may be released."""
    talker.release(3)
    prefill(talker, [segment(3, 1)], 64)
    talker.release(3)
    talker.release(3)

    assert SLOT_COUNT == talker.slot_count


WRONG_CHUNKS = {
    "no such slot": (PrefillChunk(32, prompt(1, 4), 0, is_last=True), r"Slot 32 does not exist; slots are 0 to 31"),
    "too many rows": (PrefillChunk(0, prompt(1, 65), 0, is_last=True), r"65 rows by 2 columns .* give 1 to 64 rows"),
    "no row": (PrefillChunk(0, prompt(1, 0), 0, is_last=True), r"0 rows by 2 columns"),
    "too few columns": (PrefillChunk(0, prompt(1, 4)[:, :1], 0, is_last=True), r"4 rows by 1 columns .* of 2 columns"),
    "not continued": (PrefillChunk(0, prompt(1, 4), 3, is_last=True), r"A chunk at 3 .* slot 0; continue at 0"),
    "too long": (PrefillChunk(0, prompt(1, 4), 398, is_last=True), r"402 rows .* has 400 positions; give a shorter"),
}


@pytest.mark.parametrize("case", WRONG_CHUNKS)
def test_wrong_chunks_are_refused(talker: OrtTalker, case: str) -> None:
    """The error says what would be right."""
    chunk, sentence = WRONG_CHUNKS[case]

    with pytest.raises(EngineError, match=sentence):
        talker.prefill([chunk])


def test_wrong_steps_are_refused(talker: OrtTalker) -> None:
    """A slot must have its whole prompt, come once, and bring the right number of parameters."""
    talker.prefill([PrefillChunk(0, prompt(1, 4), 0, is_last=False), PrefillChunk(1, prompt(1, 4), 0, is_last=True)])

    for requests, sentence in (
        ([StepRequest(0, (1.0,), 0, 0)], r"Slot 0 was stepped before its prompt was complete"),
        ([StepRequest(2, (1.0,), 0, 0)], r"Slot 2 was stepped before its prompt was complete"),
        ([StepRequest(1, (), 0, 0)], r"0 parameters were given to slot 1; give 1: heat\."),
        ([StepRequest(1, (1.0,), 0, 0)] * 2, r"Slots \[1, 1\] were given in one call"),
    ):
        with pytest.raises(EngineError, match=sentence):
            talker.step(requests)
