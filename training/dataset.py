"""Makes the training shards from the teacher and reads them back; resumable, one file per 500 sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from training.teacher import FRAMES_PER_UNIT, Teacher

SHARD_SENTENCES = 500
MIN_PHONEMES, MAX_PHONEMES = 4, 130
LEAD_UNITS, TAIL_UNITS = 2, 4
SUB_FRAMES = 4
FIRST_EXTRA_SHARD = 9000


@dataclass(frozen=True)
class Sentence:
    """One training sentence.

    Attributes:
        ids: int64 [phonemes].
        durations: int64 [phonemes], units of 25 ms.
        latent: float16 [frames, 256], frames is a multiple of 4 (80 Hz).
        f0_hz: float32 [frames].
    """

    ids: npt.NDArray[np.int64]
    durations: npt.NDArray[np.int64]
    latent: npt.NDArray[np.float16]
    f0_hz: npt.NDArray[np.float32]


def make_shard(teacher: Teacher, sentences: list[str], first_index: int, path: Path) -> float:
    """Synthesize `sentences`, write one npz file and return its hours of speech."""
    made = []
    for offset, sentence in enumerate(sentences):
        ids = teacher.phoneme_ids(sentence)
        if ids is None or not MIN_PHONEMES <= len(ids) <= MAX_PHONEMES:
            continue
        speed = float(np.random.default_rng(first_index + offset).uniform(0.9, 1.15))
        made.append(trimmed_sentence(ids, teacher, speed))
    arrays = {
        "ids": np.concatenate([item.ids for item in made]).astype(np.int16),
        "durations": np.concatenate([item.durations for item in made]).astype(np.int16),
        "latent": np.concatenate([item.latent for item in made]),
        "f0_hz": np.concatenate([item.f0_hz for item in made]),
        "phoneme_counts": np.array([len(item.ids) for item in made]),
        "frame_counts": np.array([len(item.f0_hz) for item in made]),
    }
    temporary = path.with_suffix(".tmp.npz")
    np.savez(temporary, allow_pickle=False, **arrays)
    temporary.replace(path)
    return float(arrays["frame_counts"].sum()) / 80 / 3600


def trimmed_sentence(ids: list[int], teacher: Teacher, speed: float) -> Sentence:
    """Shorten the leading pad to 50 ms and the trailing one to 100 ms, and pad to whole 20 Hz frames."""
    output = teacher.run(ids, speed)
    durations = output.durations.copy()
    cut = max(0, (int(durations[0]) - LEAD_UNITS) // 2 * 2)
    tail = max(0, int(durations[-1]) - TAIL_UNITS)
    durations[0] -= cut
    durations[-1] -= tail
    stop = len(output.f0_hz) - FRAMES_PER_UNIT * tail
    latent, f0_hz = output.latent[FRAMES_PER_UNIT * cut : stop], output.f0_hz[FRAMES_PER_UNIT * cut : stop]
    missing = -len(f0_hz) % SUB_FRAMES
    if missing:
        latent = np.concatenate([latent, np.repeat(latent[-1:], missing, 0)])
        f0_hz = np.concatenate([f0_hz, np.repeat(f0_hz[-1:], missing)])
        durations[-1] += missing // FRAMES_PER_UNIT
    return Sentence(np.asarray(ids), durations, latent.astype(np.float16), f0_hz.astype(np.float32))


def make_shards(sentences: list[str], folder: Path, hours: float, first_number: int = 0) -> None:
    """Write shards, numbered from `first_number`, until they hold about `hours` of speech; finished files are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    teacher, made_hours = Teacher(), 0.0
    progress = tqdm(total=hours, unit="h", desc="teacher", bar_format="{l_bar}{bar}| {n:.2f}/{total:.1f} h {elapsed}")
    for number, first in enumerate(range(0, len(sentences), SHARD_SENTENCES), first_number):
        path = folder / f"shard_{number:04d}.npz"
        if path.exists():
            with np.load(path) as shard:
                added = float(shard["frame_counts"].sum()) / 80 / 3600
        else:
            added = make_shard(teacher, sentences[first : first + SHARD_SENTENCES], first, path)
        progress.update(added)
        made_hours += added
        if made_hours >= hours:
            return


def read_shards(folder: Path) -> list[Path]:
    """Return the finished shard files in order."""
    return sorted(folder.glob("shard_????.npz"))


def read_sentences_of(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of one shard."""
    with np.load(path) as shard:
        arrays = {name: shard[name] for name in shard.files}
    phoneme_at = frame_at = 0
    for phonemes, frames in zip(arrays["phoneme_counts"], arrays["frame_counts"], strict=True):
        yield Sentence(
            arrays["ids"][phoneme_at : phoneme_at + phonemes].astype(np.int64),
            arrays["durations"][phoneme_at : phoneme_at + phonemes].astype(np.int64),
            arrays["latent"][frame_at : frame_at + frames],
            arrays["f0_hz"][frame_at : frame_at + frames],
        )
        phoneme_at += phonemes
        frame_at += frames
