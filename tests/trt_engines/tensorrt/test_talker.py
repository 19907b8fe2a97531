"""The talker's promises, on a GPU that does nothing until it is waited for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.trt_engines.small_bundle import NAN_ID
from tests.trt_engines.talker_script import Segment, prefill, speak_alone, speak_in_a_storm, step
from trt_engines.base import Engine, PrefillChunk, StepRequest
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import EngineError, SlotError
from trt_engines.load import load_engine


@pytest.fixture
def reference(small_bundle: Path) -> Engine:
    """The same bundle on ONNX Runtime."""
    return load_engine(small_bundle, EngineOptions(slot_count=1, threads=1))


def _prompt(seed: int, length: int = 0) -> NDArray[np.int32]:
    random = np.random.default_rng(seed)
    count = length or int(random.integers(2, 90))
    ids = random.integers(0, NAN_ID, count)
    return np.stack([ids, np.zeros(count)], 1).astype(np.int32)


def _segment(index: int, slot: int) -> Segment:
    return Segment(slot, _prompt(index), 1000 + index, (1.0 + 0.1 * index,))


def test_frames_equal_those_of_onnx_runtime(open_bench: Callable, reference: Engine) -> None:
    """A segment spoken through device memory, captured graphs and pinned blocks is the segment that ORT speaks."""
    expected = speak_alone(reference.talker, _segment(3, 0), 60)
    assert expected == speak_alone(open_bench().engine.talker, _segment(3, 5), 60)


def test_segments_in_a_storm_equal_themselves_alone(open_bench: Callable, reference: Engine) -> None:
    """Joining, skipping, leaving and re-used slots change no frame of anybody."""
    segments = [_segment(index, index % 8) for index in range(20)]
    speak_in_a_storm(open_bench().engine.talker, segments, 25, seed=4)
    for index, segment in enumerate(segments):
        alone = speak_alone(reference.talker, _segment(index, 0), 25)
        assert alone[: len(segment.trace)] == segment.trace


def test_without_captured_graphs_the_frames_are_the_same(open_bench: Callable, reference: Engine) -> None:
    """Where the work cannot be captured, it is put on the stream kernel by kernel."""
    bench = open_bench(flavor="tensorrt", cannot_capture=True)
    assert speak_alone(reference.talker, _segment(1, 0), 20) == speak_alone(bench.engine.talker, _segment(1, 0), 20)
    assert not [verb for verb, _ in bench.gpu.log if verb == "launch"]


def test_the_next_step_is_on_the_stream_before_this_one_is_read(open_bench: Callable) -> None:
    """From the second call on, a step is launched first and only then an earlier one is waited for."""
    bench = open_bench()
    segment = _segment(2, 0)
    prefill(bench.engine.talker, [segment], 64)
    step(bench.engine.talker, [segment])
    start = len(bench.gpu.log)
    for _ in range(3):
        step(bench.engine.talker, [segment])
    assert ["upload", "launch", "download", "record", "wait"] * 3 == [verb for verb, _ in bench.gpu.log[start:]]


def test_a_joining_slot_waits_for_no_second_step(open_bench: Callable) -> None:
    """A newcomer's first step is launched, then the step ahead for all, before anything is read."""
    bench = open_bench()
    first, second = _segment(2, 0), _segment(4, 1)
    prefill(bench.engine.talker, [first], 64)
    step(bench.engine.talker, [first])
    prefill(bench.engine.talker, [second], 64)
    start = len(bench.gpu.log)
    step(bench.engine.talker, [first, second])
    step_on_stream = ["upload", "launch", "download", "record"]
    verbs = [verb for verb, _ in bench.gpu.log[start:]]
    # The one wait between them is for the step before, whose block the second launch takes over.
    assert [*step_on_stream, "wait", *step_on_stream] == verbs[:9]


def test_the_batch_is_the_smallest_bucket_that_holds_the_rows(open_bench: Callable) -> None:
    """Three slots are stepped as four rows, whatever their numbers; each bucket was run once and captured once."""
    bench = open_bench(cannot_capture=True)
    assert [1, 2, 4, 8] == [rows for name, rows in bench.tensorrt.runs if name == "step"]
    segments = [_segment(index, slot) for index, slot in enumerate((7, 2, 5))]
    prefill(bench.engine.talker, segments, 64)
    bench.tensorrt.runs.clear()
    step(bench.engine.talker, segments)
    assert [("step", 4)] * 2 == bench.tensorrt.runs


def test_a_slot_whose_numbers_are_not_finite_fails_alone(open_bench: Callable, reference: Engine) -> None:
    """NaN gives that slot an error, leaves its neighbor, and is gone when the slot is used again."""
    talker = open_bench().engine.talker
    good, bad = _segment(5, 0), Segment(1, _prompt(6, 40), 1, (1.0,))
    bad.row_ids[-1, 0] = NAN_ID
    prefill(talker, [good, bad], 64)
    frame, error = talker.step([good.request(), bad.request()])
    assert isinstance(error, SlotError)
    assert not isinstance(frame, SlotError)
    talker.release(1)
    short = Segment(1, _prompt(7, 3), 1, (1.0,))  # ends before the place where the NaN was, and takes the same row
    assert speak_alone(talker, short, 3) == speak_alone(reference.talker, Segment(0, _prompt(7, 3), 1, (1.0,)), 3)


def test_a_slot_that_failed_spoils_nothing_while_it_idles(open_bench: Callable, reference: Engine) -> None:
    """Until it is used again, a failed row is run idly with its neighbors: its input must not make NaN once more."""
    talker = open_bench().engine.talker
    good, bad = _segment(5, 0), Segment(1, _prompt(6, 40), 1, (1.0,))
    bad.row_ids[-1, 0] = NAN_ID
    prefill(talker, [good, bad], 64)
    talker.step([good.request(), bad.request()])
    good.trace.append(([], True, False, 0))  # a frame that this test does not look at
    upper = Segment(2, _prompt(6, 40), 1, (1.0,))  # makes the batch wide enough to hold the failed row
    prefill(talker, [upper], 64)
    for _ in range(3):
        step(talker, [good, upper])
    talker.release(1)
    short = Segment(1, _prompt(7, 3), 1, (1.0,))
    assert speak_alone(talker, short, 3) == speak_alone(reference.talker, Segment(0, _prompt(7, 3), 1, (1.0,)), 3)


def test_a_full_cache_ends_the_slot_with_a_sentence(open_bench: Callable) -> None:
    """When all 400 positions are filled the slot gets an error; no step writes beyond."""
    talker = open_bench().engine.talker
    rows = np.zeros((395, 2), np.int32)
    segment = Segment(0, rows, 1, (1.0,))
    prefill(talker, [segment], 64)
    results = []
    for index in range(8):
        results += talker.step([StepRequest(0, (1.0,), 1, min(index, 6))])
    assert [False] * 6 + [True] * 2 == [isinstance(result, SlotError) for result in results]
    assert "filled all 400 positions" in str(results[-1])
    assert speak_alone(talker, _segment(1, 1), 3)  # with the full row idle beside it


@pytest.mark.parametrize("chunk_rows", [37, 5, 64])
def test_the_last_chunk_ends_with_the_cache(chunk_rows: int, open_bench: Callable, reference: Engine) -> None:
    """A prompt that fills the cache is written in whole buckets that never reach beyond it."""
    expected = speak_alone(reference.talker, Segment(0, _prompt(3, 399), 1, (1.0,)), 2)
    segment = Segment(0, _prompt(3, 399), 1, (1.0,))
    assert expected == speak_alone(open_bench().engine.talker, segment, 2, chunk_rows)


def test_changing_the_seed_in_the_middle_is_refused(open_bench: Callable) -> None:
    """The step ahead was made with the first seed, so another one is an error that names the step."""
    talker = open_bench().engine.talker
    segment = _segment(1, 0)
    prefill(talker, [segment], 64)
    step(talker, [segment])
    with pytest.raises(EngineError, match="Slot 0 was asked for step 1 but is at 1, with the seed and parameters"):
        talker.step([StepRequest(0, segment.params, 5, 1)])


def test_a_chunk_that_does_not_continue_is_refused(open_bench: Callable) -> None:
    """Chunks follow each other; a step before the prompt is complete is refused."""
    talker = open_bench().engine.talker
    talker.prefill([PrefillChunk(3, _prompt(1, 4), 0, is_last=False)])
    with pytest.raises(EngineError, match="continue at 4"):
        talker.prefill([PrefillChunk(3, _prompt(1, 4), 3, is_last=True)])
    with pytest.raises(EngineError, match="before its prompt was complete"):
        talker.step([StepRequest(3, (1.0,), 1, 0)])


def test_steps_of_others_between_two_chunks_change_nothing(open_bench: Callable, reference: Engine) -> None:
    """A slot that is still being prefilled is run idly with its neighbors, and speaks as if it had not been."""
    talker = open_bench().engine.talker
    running, joining = _segment(2, 6), Segment(0, _prompt(8, 70), 9, (1.0,))
    used = Segment(0, _prompt(9, 80), 9, (1.0,))
    speak_alone(talker, used, 5)
    prefill(talker, [running], 64)
    for chunk in joining.chunks(11):
        talker.prefill([chunk])
        step(talker, [running])
    while len(joining.trace) < 20 and not joining.is_done:
        step(talker, [joining])
    assert speak_alone(reference.talker, Segment(0, _prompt(8, 70), 9, (1.0,)), 20) == joining.trace
