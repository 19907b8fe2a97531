"""Prompts that begin alike are prefilled once, and say what they would have said."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.trt_engines.small_bundle import NAN_ID
from tests.trt_engines.talker_script import Segment, speak_alone
from trt_engines.base import PrefillChunk
from trt_engines.manifest_loading import load_manifest
from trt_engines.onnx_runtime.lanes import Lanes
from trt_engines.onnx_runtime.prefill_runner import PrefillRunner, PromptPart
from trt_engines.onnx_runtime.talker import OrtTalker

CHUNK_ROWS = 8
CHUNK_BYTES = 2 * 2 * CHUNK_ROWS * 32 * 4
MakeTalker = Callable[[int], OrtTalker]


@pytest.fixture
def make_talker(small_bundle: Path) -> Iterator[MakeTalker]:
    """Makes talkers with a prefix cache of this many bytes."""
    lanes = Lanes(1, "test")
    yield lambda largest_bytes: OrtTalker(small_bundle, load_manifest(small_bundle), 4, lanes, largest_bytes)
    lanes.close()


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The start of every part that went through the prefill graph."""
    starts: list[int] = []
    run = PrefillRunner.run

    def note(runner: PrefillRunner, parts: Sequence[PromptPart]) -> None:
        starts.extend(part.start for part in parts)
        run(runner, parts)

    monkeypatch.setattr(PrefillRunner, "run", note)
    return starts


def prompt(*seeds: int) -> NDArray[np.int32]:
    """Chunks of random ids, and a last row."""
    ids = [np.random.default_rng(seed).integers(0, NAN_ID, CHUNK_ROWS) for seed in seeds]
    joined = np.append(np.concatenate(ids), 3)
    return np.stack([joined, np.zeros_like(joined)], 1).astype(np.int32)


def speak(talker: OrtTalker, slot: int, rows: NDArray[np.int32]) -> list[object]:
    """Return what a prompt says."""
    return list(speak_alone(talker, Segment(slot, rows, 7, (1.5,)), 12, CHUNK_ROWS))


def test_a_common_beginning_is_computed_once(make_talker: MakeTalker, computed: list[int]) -> None:
    """Two chunks are copied for the second prompt, whose own end is computed; it says what it says without a cache."""
    expected = speak(make_talker(0), 1, prompt(1, 2, 4))
    talker = make_talker(1 << 20)
    speak(talker, 0, prompt(1, 2, 3))
    computed.clear()
    assert speak(talker, 1, prompt(1, 2, 4)) == expected
    assert [16] == [start for start in computed if start < 24]


def test_the_same_rows_behind_others_are_something_else(make_talker: MakeTalker, computed: list[int]) -> None:
    """A chunk is found only behind the very rows that it stood behind."""
    talker = make_talker(1 << 20)
    speak(talker, 0, prompt(1, 2, 3))
    computed.clear()
    assert speak(talker, 1, prompt(2, 2, 3)) == speak(make_talker(0), 1, prompt(2, 2, 3))
    assert computed[:3] == [0, 8, 16]


def test_what_was_used_longest_ago_goes_first(make_talker: MakeTalker, computed: list[int]) -> None:
    """With room for two chunks, those of the last prompts are kept."""
    talker = make_talker(2 * CHUNK_BYTES)
    for seed in (1, 2, 1, 3):
        speak(talker, 0, prompt(seed, 9)[: CHUNK_ROWS + 1])
        speak(talker, 0, prompt(seed, 9)[: 2 * CHUNK_ROWS])
    computed.clear()
    speak(talker, 1, prompt(1, 9)[: 2 * CHUNK_ROWS])
    speak(talker, 1, prompt(2, 9)[: 2 * CHUNK_ROWS])
    assert computed.count(0) == 1


def test_what_is_not_finite_is_not_kept(make_talker: MakeTalker, computed: list[int]) -> None:
    """A chunk that broke its slot is computed again."""
    talker = make_talker(1 << 20)
    rows = prompt(1, 2)
    rows[3, 0] = NAN_ID
    for _ in range(2):
        talker.prefill([PrefillChunk(0, rows[:CHUNK_ROWS], 0, is_last=False)])
    assert computed == [0, 0]
