"""Turns the shards' latents into codes with the trained encoder, and aligned sentences into talker examples."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from build_engines.networks.latent_codec import LatentCodec, LatentCodecConfig
from build_engines.networks.pointer_talker import BEGIN_ADVANCE, END_ADVANCE, MAX_DWELL
from training import checkpoint
from training.dataset import Sentence, read_sentences_of, read_shards

HALVES = 2


@dataclass(frozen=True)
class Example:
    """One sentence as the talker sees it.

    Attributes:
        prompt: int64 [phonemes].
        rows: int64 [frames + 1, 4 + codebooks], the begin row, then one row per frame.
        advances: int64 [frames + 1], the target after each row; the last is the end.
        pointers: int64 [frames + 1], the pointer after each target.
        codes: int64 [frames + 1, codebooks], the target codes (the last repeats its predecessor and is not learned).
    """

    prompt: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    advances: npt.NDArray[np.int64]
    pointers: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]


def make_example(
    prompt: npt.NDArray[np.int64], durations: npt.NDArray[np.int64], codes: npt.NDArray[np.int64]
) -> Example:
    """Align codes [frames, codebooks] with phonemes that last `durations` half frames (at least one each)."""
    spoken = np.repeat(np.arange(len(durations)), durations)
    missing = HALVES * len(codes) - len(spoken)
    spoken = np.concatenate([spoken, np.full(max(0, missing), len(durations) - 1)])[: HALVES * len(codes)]
    moves = np.diff(spoken, prepend=0)
    advances = moves[0::2] + 2 * moves[1::2]
    pointers = spoken[1::2]
    halves = np.arange(len(spoken))
    starts = np.maximum.accumulate(np.where(np.diff(spoken, prepend=-1) > 0, halves, 0))
    dwell = np.minimum((halves - starts)[1::2], MAX_DWELL)
    frames = np.column_stack([np.full(len(codes), -1), advances, pointers, dwell, codes])
    begin = np.array([[-1, BEGIN_ADVANCE, 0, 0, *([0] * codes.shape[1])]])
    return Example(
        prompt,
        np.concatenate([begin, frames]),
        np.append(advances, END_ADVANCE),
        np.append(pointers, pointers[-1]),
        np.concatenate([codes, codes[-1:]]),
    )


def load_codec(path: Path) -> LatentCodec:
    """Return the trained codec in evaluation mode."""
    state = checkpoint.load(path)
    if state is None:
        raise FileNotFoundError(f"There is no codec checkpoint at {path}; run the codec stage first.")
    codec = LatentCodec(LatentCodecConfig())
    codec.load_state_dict(state["codec"])
    return codec.eval()


@torch.no_grad()
def encode_sentence(codec: LatentCodec, sentence: Sentence) -> npt.NDArray[np.int64]:
    """Return the codes int64 [20 Hz frames, codebooks] of one sentence."""
    latent = torch.from_numpy(sentence.latent.astype(np.float32))[None]
    quantized = codec.encode(codec.features(latent, torch.from_numpy(sentence.f0_hz)[None]))
    return codec.fsq.codes(quantized)[0].numpy()


def encode_shards(codec: LatentCodec, data: Path, out: Path) -> None:
    """Write one token file per shard; finished ones are skipped."""
    out.mkdir(parents=True, exist_ok=True)
    for path in tqdm(read_shards(data), desc="tokens", unit="shard"):
        target = out / path.name
        if target.exists():
            continue
        sentences = [item for item in read_sentences_of(path) if item.durations.min() >= 1]
        codes = [encode_sentence(codec, item) for item in sentences]
        temporary = target.with_suffix(".tmp.npz")
        np.savez(
            temporary,
            codes=np.concatenate(codes).astype(np.int16),
            code_counts=np.array([len(item) for item in codes]),
            ids=np.concatenate([item.ids for item in sentences]).astype(np.int16),
            durations=np.concatenate([item.durations for item in sentences]).astype(np.int16),
            id_counts=np.array([len(item.ids) for item in sentences]),
        )
        temporary.replace(target)


def read_examples(path: Path) -> Iterator[Example]:
    """Yield the examples of one token file."""
    with np.load(path) as shard:
        arrays = {name: shard[name].astype(np.int64) for name in shard.files}
    code_at = id_at = 0
    for frames, phonemes in zip(arrays["code_counts"], arrays["id_counts"], strict=True):
        ids, durations = (arrays[name][id_at : id_at + phonemes] for name in ("ids", "durations"))
        yield make_example(ids, durations, arrays["codes"][code_at : code_at + frames])
        code_at += frames
        id_at += phonemes
