"""The vocoders' promises on the doubles: the samples of ONNX Runtime, however segments are cut."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.trt_engines.double_plans import write_double_plans
from tests.trt_engines.small_bundle import NAN_ID
from tests.trt_engines.vocoder_script import Spoken, in_many_voices, random_cuts, vocode_together, vocode_whole
from trt_engines.base import VocodeItem
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import SlotError
from trt_engines.load import load_engine


def _frames(seed: int) -> NDArray[np.int32]:
    random = np.random.default_rng(seed)
    return random.integers(0, NAN_ID, (int(random.integers(1, 40)), 2)).astype(np.int32)


@pytest.fixture(params=["small_bundle", "window_bundle"])
def bundle(request: pytest.FixtureRequest) -> Path:
    """Both kinds of vocoder."""
    path: Path = request.getfixturevalue(request.param)
    return path


def test_samples_equal_those_of_onnx_runtime_for_any_cuts(bundle: Path, open_bench: Callable, tmp_path: Path) -> None:
    """Seven segments side by side, twice, more than one run holds, cut anyhow: the samples of each alone."""
    write_double_plans(bundle, tmp_path)
    vocoder = open_bench(bundle_dir=bundle, plans_dir=tmp_path).engine.vocoder
    reference = load_engine(bundle, EngineOptions(slot_count=1, threads=1)).vocoder
    spoken = [Spoken(i % 7, _frames(i), 50 + i, random_cuts(len(_frames(i)), i)) for i in range(14)]
    vocode_together(vocoder, spoken[:7])
    vocode_together(vocoder, spoken[7:])
    for segment in spoken:
        whole = vocode_whole(reference, segment.frames, segment.seed)
        assert len(whole) == len(segment.frames) * vocoder.samples_per_frame
        np.testing.assert_array_equal(whole, segment.samples)


def test_each_segment_sounds_in_its_voice(tiny_bundle: Path, open_bench: Callable, tmp_path: Path) -> None:
    """Seven segments side by side in different voices: the samples that ONNX Runtime gives each alone."""
    write_double_plans(tiny_bundle, tmp_path)
    engine = open_bench(bundle_dir=tiny_bundle, plans_dir=tmp_path).engine
    reference = load_engine(tiny_bundle, EngineOptions(slot_count=1, threads=1)).vocoder
    spoken = in_many_voices(7, engine.manifest.vocode.voice_width, engine.manifest.frame.width)
    vocode_together(engine.vocoder, spoken)
    for segment in spoken:
        alone = vocode_whole(reference, segment.frames, segment.seed, segment.voice)
        np.testing.assert_array_equal(alone, segment.samples)


def test_a_slot_that_is_used_again_starts_from_silence(tiny_bundle: Path, open_bench: Callable, tmp_path: Path) -> None:
    """The tiny voice says the same twice in one slot: nothing of the first segment is carried over."""
    write_double_plans(tiny_bundle, tmp_path)
    vocoder = open_bench(bundle_dir=tiny_bundle, plans_dir=tmp_path).engine.vocoder
    frames = np.random.default_rng(1).integers(0, 100, (13, 4)).astype(np.int32)
    first, second = (vocode_whole(vocoder, frames, 5) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_slot_that_is_not_finite_fails_alone(open_bench: Callable) -> None:
    """NaN in one item is that slot's error; the other item has its samples."""
    vocoder = open_bench().engine.vocoder
    good, bad = np.zeros((4, 2), np.int32), np.full((4, 2), NAN_ID, np.int32)
    items = [VocodeItem(slot, frames, 1, is_first=True, is_last=True) for slot, frames in enumerate((good, bad))]
    samples, error = vocoder.vocode(items)
    assert isinstance(samples, np.ndarray)
    assert isinstance(error, SlotError)


def test_the_vocoder_has_a_stream_of_its_own_behind_the_steps(open_bench: Callable) -> None:
    """Steps run on an urgent stream; the vocoder's runs never touch it."""
    bench = open_bench()
    start = len(bench.gpu.log)
    item = VocodeItem(0, np.zeros((4, 2), np.int32), 1, is_first=True, is_last=True)
    bench.engine.vocoder.vocode([item])
    (stream,) = {stream for verb, stream in bench.gpu.log[start:] if verb != "wait"}
    assert not bench.gpu.is_urgent(stream)
