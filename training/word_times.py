"""Checks the pointer's word times against the teacher's durations, on sound: `python -m training word-times`.

The talker says a sentence; its codes are decoded to latents. The teacher says the same phonemes, with known durations.
Dynamic time warping of the two latent sequences carries the teacher's word starts over to the talker's time axis; how
far the reported times are from there is the error. The warping itself is good to a few 12.5 ms frames.
"""

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from build_engines.networks.latent_codec import LatentCodec
from server.phonemes.phoneme_frontend import PhonemeFrontend
from server.prepared_segment import PreparedSegment
from server.voices import VoiceCatalogue
from training.recipe import Recipe
from training.teacher import FRAMES_PER_UNIT, Teacher
from training.tokens import load_codec
from trt_engines.base import Engine, PrefillChunk, StepRequest
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import SlotError
from trt_engines.load import load_engine

RESULTS = Path("benchmarks/results/word_times.json")
SENTENCES = ("eval_sentences.txt", "held_out_sentences.txt")
LATENT_RATE_HZ = 80.0
Latents = npt.NDArray[np.float32]


def speak_frames(engine: Engine, segment: PreparedSegment, seed: int) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Return codes int64 [frames, codebooks] and the pointer of each frame of one segment."""
    params = tuple(param.default for param in engine.manifest.step.params)
    rows, most = segment.row_ids, engine.manifest.prefill.chunk_rows
    for start in range(0, len(rows), most):
        engine.talker.prefill([PrefillChunk(0, rows[start : start + most], start, start + most >= len(rows))])
    codes: list[npt.NDArray[np.int64]] = []
    pointers: list[int] = []
    for index in range(segment.max_frames):
        frame = engine.talker.step([StepRequest(0, params, seed, index)])[0]
        if isinstance(frame, SlotError):
            raise frame
        if frame.emit:
            codes.append(frame.frame.astype(np.int64))
            pointers.append(frame.pointer)
        if frame.done:
            break
    engine.talker.release(0)
    return np.stack(codes), pointers


@torch.no_grad()
def decoded_latents(codec: LatentCodec, codes: npt.NDArray[np.int64]) -> Latents:
    """Return the standardized latents [80 Hz frames, width] that codes stand for."""
    decoded = codec.decoder(codec.fsq.dequantize(torch.from_numpy(codes)[None]))
    return decoded[0, :, : codec.config.latent_width].numpy()


def warped(source: Latents, target: Latents) -> npt.NDArray[np.float64]:
    """Return for every frame of `source` the mean frame of `target` that dynamic time warping pairs it with."""
    distance = ((source[:, None] - target[None]) ** 2).mean(-1)
    total = np.full((len(source) + 1, len(target) + 1), np.inf)
    total[0, 0] = 0.0
    for row in range(len(source)):
        for column in range(len(target)):
            before = min(total[row, column], total[row, column + 1], total[row + 1, column])
            total[row + 1, column + 1] = distance[row, column] + before
    row, column = len(source) - 1, len(target) - 1
    pairs: list[list[int]] = [[] for _ in source]
    while row >= 0 and column >= 0:
        pairs[row].append(column)
        steps = (total[row, column], total[row, column + 1], total[row + 1, column])
        best = int(np.argmin(steps))
        row, column = row - (best != 2), column - (best != 1)
    return np.array([np.mean(columns) for columns in pairs])


def word_errors_ms(engine: Engine, codec: LatentCodec, teacher: Teacher, segment: PreparedSegment) -> list[float]:
    """Return the error of every word start of one segment, reported minus warped."""
    codes, pointers = speak_frames(engine, segment, seed=1)
    spoken = teacher.run(segment.row_ids[:-1, 0].tolist(), 1.0)
    width = codec.config.latent_width
    reference = codec.features(torch.from_numpy(spoken.latent), torch.from_numpy(spoken.f0_hz))[:, :width].numpy()
    place = warped(reference, decoded_latents(codec, codes))
    starts = FRAMES_PER_UNIT * np.concatenate([[0], np.cumsum(spoken.durations)[:-1]])
    frame_s = engine.manifest.audio.samples_per_frame / engine.manifest.audio.sample_rate_hz
    errors = []
    for word in segment.words:
        reported_s = frame_s * int(np.argmax(np.array(pointers) >= word.first_row))
        errors.append(1000 * (reported_s - place[starts[word.first_row]] / LATENT_RATE_HZ))
    return errors


def check_word_times(recipe: Recipe) -> None:
    """Measure all sentences and write the figures."""
    engine = load_engine(recipe.bundle, EngineOptions(slot_count=1, threads=1))
    frontend = PhonemeFrontend(recipe.bundle, engine.manifest)
    voice = VoiceCatalogue(recipe.bundle, engine.manifest).default
    codec, teacher = load_codec(recipe.codec), Teacher()
    folder = Path(__file__).parent / "data"
    texts = [text for name in SENTENCES for text in (folder / name).read_text().splitlines()]
    errors = [
        error
        for text in tqdm(texts, desc="word times")
        for segment in frontend.prepare(text, voice)
        for error in word_errors_ms(engine, codec, teacher, segment)
    ]
    engine.close()
    apart = np.abs(errors)
    figures = {
        "words": len(errors),
        "mean_ms": round(float(np.mean(errors)), 1),
        "median_abs_ms": round(float(np.median(apart)), 1),
        "p95_abs_ms": round(float(np.percentile(apart, 95)), 1),
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(f"{json.dumps(figures, indent=1)}\n")
    print(figures)
