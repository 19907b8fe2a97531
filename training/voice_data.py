"""What the timbres are learned from: sentences that our talker has said, and how each other voice says them.

The talker speaks some sentences once; its codes, its timing and its pitch are kept. Then every voice says a share of
them in that timing. Both are kept on disk and made once; a run that was stopped goes on where it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from build_engines.networks.latent_codec import LatentCodec
from build_engines.networks.pointer_talker_config import END_ADVANCE
from build_engines.networks.timbre import moved_log_f0
from build_engines.verification.graph_runner import GraphRunner
from build_engines.verification.talker_run import TalkerDriver, TalkerRun
from training.kokoro import VOICED_HZ, Floats, Kokoro, VoicePacks
from training.teacher import Teacher
from training.texts import read_sentences
from trt_engines.manifest import Manifest

_SENTENCE_COUNT, _STATISTICS_COUNT = 90, 4
_SHORTEST, _LONGEST = 40, 85
_BATCH, _CAPACITY, _CHUNK_ROWS = 8, 512, 64
_STEPS_PER_PHONEME, _SPARE_STEPS = 2, 20
_DELAY_SAMPLES = 28
"""By so much the teacher's sound comes after ours, as the correlation of `af_heart` with `aria` has it."""
_RANGE_LIMITS = (0.7, 1.3)
"""How far the range of the pitch is stretched: beyond, speech sounds sung, or flat."""


@dataclass(frozen=True)
class Said:
    """One sentence as our talker has said it.

    Attributes:
        ids: int64 [phonemes].
        durations: int64 [phonemes], units of 25 ms.
        latent: float32 [frames, width] at 80 Hz.
        log_f0: float32 [frames].
        is_voiced: bool [frames].
    """

    ids: npt.NDArray[np.int64]
    durations: npt.NDArray[np.int64]
    latent: Floats
    log_f0: Floats
    is_voiced: npt.NDArray[np.bool_]

    def f0_hz(self, numbers: tuple[float, float]) -> Floats:
        """Return the pitch float32 [frames] of a voice with these numbers, 0 where unvoiced."""
        log_f0 = moved_log_f0(torch.from_numpy(self.log_f0)[None], torch.tensor([numbers]))
        f0_hz: Floats = torch.where(torch.from_numpy(self.is_voiced), log_f0.exp(), 0.0)[0].numpy()
        return f0_hz


@dataclass(frozen=True)
class Pitch:
    """Where the pitch of a voice lies: middle and deviation of its logarithm."""

    middle: float
    deviation: float

    @classmethod
    def of(cls, log_f0: Floats) -> "Pitch":
        """Measure the voiced frames of a voice."""
        return cls(float(np.median(log_f0)), float(log_f0.std()))

    def numbers(self, first: "Pitch") -> tuple[float, float]:
        """Return the last two numbers of the voice vector: how the first voice's log pitch is stretched and moved."""
        stretch = float(np.clip(self.deviation / first.deviation, *_RANGE_LIMITS))
        return stretch - 1.0, self.middle - stretch * first.middle


def said_by_talker(bundle_dir: Path, manifest: Manifest, codec: LatentCodec, folder: Path) -> list[Said]:
    """Return the sentences, spoken by the talker of a bundle with the default parameters; kept in `folder`."""
    path = folder / "said.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, npt.NDArray[Any]] = {}
        for index, said in enumerate(_speak(bundle_dir, manifest, codec)):
            arrays |= {f"{name}_{index}": value for name, value in vars(said).items()}
        np.savez(path, allow_pickle=False, **arrays)
    with np.load(path) as kept:
        count = sum(name.startswith("ids_") for name in kept.files)
        names = ("ids", "durations", "latent", "log_f0", "is_voiced")
        return [Said(*(kept[f"{name}_{index}"] for name in names)) for index in range(count)]


def pitch_of_first(sentences: list[Said]) -> Pitch:
    """Measure the pitch of our talker."""
    return Pitch.of(np.concatenate([said.log_f0[said.is_voiced] for said in sentences]))


def pitch_of(kokoro: Kokoro, packs: VoicePacks, pack: str, sentences: list[Said]) -> Pitch:
    """Measure the pitch that a voice has by itself, on a few sentences."""
    heard = [kokoro.own_pitch(said.ids, packs.style(pack, len(said.ids) - 2)) for said in sentences[:_STATISTICS_COUNT]]
    joined = np.concatenate(heard)
    return Pitch.of(np.log(joined[joined > VOICED_HZ]))


def render(
    kokoro: Kokoro, packs: VoicePacks, pack: str, numbers: tuple[float, float], said: list[Said], path: Path
) -> list[Floats]:
    """Return what a voice makes of these sentences, float32 samples of each, no later than ours; kept in `path`."""
    if not path.exists():
        made = {}
        for index, item in enumerate(tqdm(said, desc=pack, unit="sentence")):
            style = packs.style(pack, len(item.ids) - 2)
            made[str(index)] = kokoro.speak(item.ids, item.durations, item.f0_hz(numbers), style).astype(np.float16)
        np.savez(path, allow_pickle=False, **made)
    with np.load(path) as kept:
        return [_without_delay(kept[str(index)].astype(np.float32)) for index in range(len(kept.files))]


def _without_delay(samples: Floats) -> Floats:
    return np.concatenate([samples[_DELAY_SAMPLES:], np.zeros(_DELAY_SAMPLES, np.float32)])


def _speak(bundle_dir: Path, manifest: Manifest, codec: LatentCodec) -> Iterator[Said]:
    prefill, step = (GraphRunner(bundle_dir / part.graph) for part in (manifest.prefill, manifest.step))
    driver = TalkerDriver(prefill, step, manifest.frame.width, _CHUNK_ROWS, _CAPACITY)
    teacher = Teacher()
    texts = [text for text in read_sentences() if _SHORTEST <= len(text) <= _LONGEST][:_SENTENCE_COUNT]
    prompts = [np.asarray(ids, np.int32) for text in texts if (ids := teacher.phoneme_ids(text)) is not None]
    params = np.tile(np.asarray([param.default for param in manifest.step.params], np.float32), (_BATCH, 1))
    for start in tqdm(range(0, len(prompts), _BATCH), desc="talker", unit="batch"):
        batch = prompts[start : start + _BATCH]
        steps = _STEPS_PER_PHONEME * max(len(prompt) for prompt in batch) + _SPARE_STEPS
        run = driver.speak(batch, params[: len(batch)], steps)
        yield from (_said(run, row, codec) for row in range(len(batch)) if run.done[:, row].any())


@torch.no_grad()
def _said(run: TalkerRun, row: int, codec: LatentCodec) -> Said:
    """Read durations and latent off the rows of one utterance."""
    ids, rows = run.prompts[row].astype(np.int64), run.rows[1 : 2 + int(run.done[:, row].argmax()), row]
    if rows[-1, 1] == END_ADVANCE:
        rows = rows[:-1]
    advance, pointer = rows[:, 1], rows[:, 2]
    spoken = np.stack([pointer - (advance >> 1), pointer], 1).reshape(-1)  # a frame is two units of 25 ms
    codes = torch.from_numpy(rows[None, :, 4:].astype(np.int64))
    latent, log_f0, voicing = codec.split(codec.decoder(codec.fsq.dequantize(codes)))
    durations = np.bincount(spoken, minlength=len(ids))[: len(ids)]
    return Said(ids, durations, latent[0].numpy(), log_f0[0].numpy(), voicing[0].numpy() > 0)
