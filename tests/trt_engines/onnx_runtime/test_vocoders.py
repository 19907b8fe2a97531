"""Both kinds of vocoder on ONNX Runtime: samples do not depend on chunks or company."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from tests.trt_engines.small_bundle import NAN_ID, SAMPLES_PER_FRAME
from tests.trt_engines.vocoder_script import Spoken, in_many_voices, random_cuts, vocode_together, vocode_whole
from trt_engines.base import VocodeItem, Vocoder
from trt_engines.errors import EngineError, SlotError
from trt_engines.manifest_loading import load_manifest
from trt_engines.onnx_runtime import state_vocoder
from trt_engines.onnx_runtime.bound_run import Arrays, BoundRun
from trt_engines.onnx_runtime.lane_vocoder import LaneVocoder
from trt_engines.onnx_runtime.lanes import Lanes
from trt_engines.onnx_runtime.state_vocoder import StateVocoder
from trt_engines.onnx_runtime.window_vocoder import WindowVocoder

SLOT_COUNT = 32


@pytest.fixture(params=["state", "window"])
def vocoder(request: pytest.FixtureRequest, small_bundle: Path, window_bundle: Path) -> Vocoder:
    """A vocoder with 32 slots."""
    if request.param == "state":
        return StateVocoder(small_bundle, load_manifest(small_bundle), SLOT_COUNT)
    return WindowVocoder(window_bundle, load_manifest(window_bundle), SLOT_COUNT)


def frames(seed: int, count: int) -> NDArray[np.int32]:
    """Random frames."""
    return np.random.default_rng(seed).integers(0, NAN_ID, (count, 2)).astype(np.int32)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 101])
def test_every_frame_becomes_its_samples(vocoder: Vocoder, count: int) -> None:
    """A segment of any length, none and one frame included, gives exactly its samples."""
    assert SAMPLES_PER_FRAME == vocoder.samples_per_frame
    assert count * SAMPLES_PER_FRAME == len(vocode_whole(vocoder, frames(1, count), 1))


def test_chunks_do_not_matter(vocoder: Vocoder) -> None:
    """However a segment is cut, the samples are the same, bit for bit."""
    whole = vocode_whole(vocoder, frames(2, 25), 2)
    for seed in range(20):
        spoken = Spoken(seed, frames(2, 25), 2, random_cuts(25, seed))
        vocode_together(vocoder, [spoken])

        assert np.array_equal(whole, spoken.samples)


def test_company_does_not_matter(vocoder: Vocoder) -> None:
    """32 segments of different lengths and cuts, side by side, sound as each does alone."""
    counts = [1 + 5 * slot for slot in range(SLOT_COUNT)]
    together = [Spoken(s, frames(s, count), s, random_cuts(count, s)) for s, count in enumerate(counts)]
    vocode_together(vocoder, together)

    for spoken in together:
        assert np.array_equal(vocode_whole(vocoder, spoken.frames, spoken.seed), spoken.samples)


def test_voices_do_not_matter_to_each_other(tiny_bundle: Path) -> None:
    """Segments in different voices, side by side, sound as each does alone; each voice has its own sound."""
    manifest = load_manifest(tiny_bundle)
    vocoder = StateVocoder(tiny_bundle, manifest, SLOT_COUNT)
    together = in_many_voices(9, manifest.vocode.voice_width, manifest.frame.width)
    vocode_together(vocoder, together)

    for spoken in together:
        alone = vocode_whole(vocoder, spoken.frames, spoken.seed, spoken.voice)
        assert np.array_equal(alone, spoken.samples)
        if spoken.voice is not None:
            assert not np.array_equal(alone, vocode_whole(vocoder, spoken.frames, spoken.seed))


def test_a_voice_of_another_width_is_refused(vocoder: Vocoder) -> None:
    """These vocoders have one voice, so a vector is an error, before anything is run."""
    item = VocodeItem(0, frames(1, 2), 1, is_first=True, is_last=True, voice=np.zeros(3, np.float32))
    with pytest.raises(
        EngineError, match=r"voice vector of shape \(3,\) was given to slot 0; the vocoder takes 0 numb"
    ):
        vocoder.vocode([item])


def test_about_equally_long_chunks_share_a_run(small_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run costs as much as some frames, so that a little padding is worth a run less, but not much of it."""
    batches: list[tuple[int, ...]] = []

    def run(session: ort.InferenceSession, inputs: Arrays, outputs: Arrays) -> BoundRun:
        batches.append(inputs["frames"].shape[:2])
        return BoundRun(session, inputs, outputs)

    monkeypatch.setattr(state_vocoder, "BoundRun", run)
    vocoder = StateVocoder(small_bundle, load_manifest(small_bundle), SLOT_COUNT)
    counts = (2, 16, 4, 8, 7, 12)
    vocoder.vocode([VocodeItem(slot, frames(1, count), 1, True, False) for slot, count in enumerate(counts)])

    assert [(2, 16), (4, 8)] == batches


def test_the_vocoder_takes_the_place_of_a_lane_while_it_runs(small_bundle: Path) -> None:
    """The step beside it uses the cores that are left; otherwise it behaves as the vocoder in it."""
    lanes, seen = Lanes(2, "test"), list[int]()

    class Watching(StateVocoder):
        def vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
            seen.append(lanes.free_count)
            return super().vocode(items)

    plain = Watching(small_bundle, load_manifest(small_bundle), SLOT_COUNT)
    vocoder = LaneVocoder(plain, lanes)
    whole = vocode_whole(vocoder, frames(2, 25), 2)
    after = lanes.free_count
    lanes.close()

    assert ({1}, 2) == (set(seen), after)
    assert np.array_equal(vocode_whole(plain, frames(2, 25), 2), whole)
    assert (SLOT_COUNT, SAMPLES_PER_FRAME) == (vocoder.slot_count, vocoder.samples_per_frame)
    assert plain.lookahead_frames == vocoder.lookahead_frames


def test_samples_come_no_later_than_the_look_ahead(vocoder: Vocoder) -> None:
    """A chunk gives the samples of all frames so far but the last `lookahead_frames`."""
    first = vocoder.vocode([VocodeItem(0, frames(1, 5), 1, is_first=True, is_last=False)])[0]

    assert isinstance(first, np.ndarray)
    assert (5 - vocoder.lookahead_frames) * SAMPLES_PER_FRAME == len(first)


def test_a_slot_that_is_not_finite_fails_alone(vocoder: Vocoder) -> None:
    """The neighbor sounds as it does alone, and the slot can be used again."""
    sick = frames(1, 6)
    sick[2, 0] = NAN_ID
    items = [VocodeItem(slot, part, 1, is_first=True, is_last=True) for slot, part in ((3, sick), (4, frames(2, 6)))]
    failed, healthy = vocoder.vocode(items)

    assert isinstance(failed, SlotError)
    assert "not finite for slot 3; release it" in str(failed)
    assert np.array_equal(vocode_whole(vocoder, frames(2, 6), 1), healthy)


def test_another_thread_hears_the_same(vocoder: Vocoder) -> None:
    """The vocoder may be used from any thread."""
    heard = []
    thread = threading.Thread(target=lambda: heard.append(vocode_whole(vocoder, frames(5, 9), 5)))
    thread.start()
    thread.join()

    assert np.array_equal(vocode_whole(vocoder, frames(5, 9), 5), heard[0])


def test_a_new_first_chunk_forgets_the_last_segment(vocoder: Vocoder) -> None:
    """Nothing of a segment that was not ended is left in the next."""
    vocoder.vocode([VocodeItem(0, frames(8, 5), 1, is_first=True, is_last=False)])

    assert np.array_equal(vocode_whole(vocoder, frames(5, 9), 5), vocode_whole(vocoder, frames(5, 9), 5))
    assert SLOT_COUNT == vocoder.slot_count


def test_wrong_items_are_refused(vocoder: Vocoder) -> None:
    """The error says what would be right."""
    good = VocodeItem(0, frames(1, 2), 1, is_first=True, is_last=False)
    for items, sentence in (
        ([good, good], r"Slots \[0, 0\] were given in one call"),
        ([VocodeItem(32, frames(1, 2), 1, is_first=True, is_last=False)], r"Slot 32 does not exist; slots are 0 to 31"),
        ([VocodeItem(0, frames(1, 2)[0], 1, is_first=True, is_last=False)], r"shape \(2,\) .* give \[frames, 2\]"),
        ([VocodeItem(9, frames(1, 2), 1, is_first=False, is_last=False)], r"Slot 9 was continued without a beginning"),
    ):
        with pytest.raises(EngineError, match=sentence):
            vocoder.vocode(items)
