"""Does the engine compute what ONNX Runtime computes, and the same for everybody in the batch?"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from build_engines.selftest.finding import Finding
from build_engines.selftest.spoken_prompts import SpokenPrompts
from build_engines.tensorrt.log_mel import mel_distance_db
from trt_engines.base import Engine, StepFrame, Talker, VocodeItem, Vocoder

_PROMPTS = 16
_LONG_RUN_STEPS = 200
_COMPARED_SLOTS = 16
_COMPANY_STEPS = 24

Samples = NDArray[np.float32]


def correctness(engine: Engine, reference: Engine, prompts: SpokenPrompts) -> Iterator[Finding]:
    """Yield one finding after the other; `reference` is ONNX Runtime."""
    yield _first_frames(engine.talker, reference.talker, prompts)
    yield _first_frames_of_a_full_batch(engine.talker, reference.talker, prompts)
    yield from _company(engine.talker, prompts)
    if engine.manifest.row.pointer_column is not None:
        yield _long_run(engine.talker, prompts)
    yield from _vocoder(engine, reference, prompts)


def _first_frames(talker: Talker, reference: Talker, prompts: SpokenPrompts) -> Finding:
    """The first frame after prompts of many lengths, with the same random numbers: prefill and one step."""
    same = 0
    for seed in range(_PROMPTS):
        frames = []
        for one in (talker, reference):
            prompts.prefill(one, 0, skipped_rows=seed % (len(prompts.row_ids) - 1))
            frames += prompts.step(one, [0], [seed], 0)
            one.release(0)
        same += bool((frames[0].frame == frames[1].frame).all())
    return Finding("first frames equal to ONNX Runtime's", same / _PROMPTS, limit=0.8, bound="at least")


def _first_frames_of_a_full_batch(talker: Talker, reference: Talker, prompts: SpokenPrompts) -> Finding:
    """The largest bucket, with a prompt of its own in each slot; some slots spread over the batch are compared."""
    slots = range(talker.slot_count)
    skipped = [slot % (len(prompts.row_ids) - 1) for slot in slots]
    for slot in slots:
        prompts.prefill(talker, slot, skipped_rows=skipped[slot])
    made = prompts.step(talker, slots, slots, 0)
    compared = sorted({int(slot) for slot in np.linspace(0, talker.slot_count - 1, _COMPARED_SLOTS)})
    same = 0
    for slot in compared:
        prompts.prefill(reference, 0, skipped_rows=skipped[slot])
        (expected,) = prompts.step(reference, [0], [slot], 0)
        reference.release(0)
        same += bool((made[slot].frame == expected.frame).all())
    for slot in slots:
        talker.release(slot)
    name = "first frames of a full batch equal to ONNX Runtime's"
    return Finding(name, same / len(compared), limit=0.8, bound="at least")


def _company(talker: Talker, prompts: SpokenPrompts) -> Iterator[Finding]:
    """The same utterance alone, and in every slot of a full batch with others."""
    alone = _speak(talker, prompts, [0], _COMPANY_STEPS)[0]
    full = _speak(talker, prompts, range(talker.slot_count), _COMPANY_STEPS)
    again = _speak(talker, prompts, range(talker.slot_count), _COMPANY_STEPS)
    yield Finding("frames equal when a full batch is run again", _share(full[0], again[0]), limit=1.0, bound="at least")
    # Another bucket may have other kernels, which round otherwise: reported, not demanded.
    yield Finding("frames equal alone and in the full batch", _share(alone, full[0]))


def _speak(talker: Talker, prompts: SpokenPrompts, slots: Sequence[int], steps: int) -> list[list[StepFrame]]:
    """Speak the golden prompt in each slot with a seed of its own."""
    for slot in slots:
        prompts.prefill(talker, slot)
    made = [prompts.step(talker, slots, slots, index) for index in range(steps)]
    for slot in slots:
        talker.release(slot)
    return [list(frames) for frames in zip(*made, strict=True)]


def _share(ours: Sequence[StepFrame], theirs: Sequence[StepFrame]) -> float:
    """Return the share of frames that are equal."""
    return float(np.mean([(one.frame == other.frame).all() for one, other in zip(ours, theirs, strict=True)]))


def _long_run(talker: Talker, prompts: SpokenPrompts) -> Finding:
    """Steps in a row on one cache; a pointer that goes back would mean that the past was overwritten."""
    frames = _speak(talker, prompts, [0], _LONG_RUN_STEPS)[0]
    steps_back = sum(later.pointer < sooner.pointer for sooner, later in pairwise(frames))
    return Finding(f"steps back of the pointer in {_LONG_RUN_STEPS} steps", steps_back, limit=0)


def _vocoder(engine: Engine, reference: Engine, prompts: SpokenPrompts) -> Iterator[Finding]:
    rate_hz = engine.manifest.audio.sample_rate_hz
    whole = _vocode(engine.vocoder, prompts, len(prompts.frames))
    expected = _vocode(reference.vocoder, prompts, len(prompts.frames))
    yield Finding("mel distance to ONNX Runtime", mel_distance_db(whole, expected, rate_hz), "dB", 0.5)
    cut = _vocode(engine.vocoder, prompts, 3)
    yield Finding("mel distance of a segment cut into chunks", mel_distance_db(cut, whole, rate_hz), "dB", 0.2)
    yield Finding("samples missing or too many", abs(len(cut) - len(expected)), limit=0)


def _vocode(vocoder: Vocoder, prompts: SpokenPrompts, chunk_frames: int) -> Samples:
    made: list[Samples] = []
    for start in range(0, len(prompts.frames), chunk_frames):
        frames = prompts.frames[start : start + chunk_frames]
        is_last = start + chunk_frames >= len(prompts.frames)
        for result in vocoder.vocode([VocodeItem(0, frames, 1, is_first=start == 0, is_last=is_last)]):
            if not isinstance(result, np.ndarray):
                raise result
            made.append(result)
    vocoder.release(0)
    return np.concatenate(made)
