"""Listens by numbers to the shipped bundle, through the real server and client, beside the codec and the teacher.

Writes `benchmarks/results/voice_quality.json` and the table of the bundle's model card. Without a codec checkpoint (a
clone that has not retrained) the row of the codec is left out.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from hibari import Hibari, dsp
from tqdm import tqdm

from antiphon_client.aio import AsyncClient
from antiphon_client.options import Encoding, SpeechOptions
from server.app import App
from server.config import EngineSettings, ListenSettings, LogSettings, Settings
from training import judges
from training.dataset import trimmed_sentence
from training.evaluate_table import Figures, table
from training.recipe import Recipe
from training.teacher import Teacher
from training.templates import agent_sentences
from training.texts import read_sentences
from training.tokens import load_codec

SAMPLE_RATE_HZ = 24_000
SEEDS = (0, 1, 2)
RESULTS = Path("benchmarks/results/voice_quality.json")
_BEGIN, _END = "<!-- figures -->", "<!-- end of figures -->"
_DATA = Path(__file__).parent / "data"
Samples = npt.NDArray[np.float32]


def sentence_lists() -> dict[str, list[str]]:
    """Return the lists: 20 for evaluation, 50 held out of the training domains, 200 of the kind agents speak."""
    learned = set(read_sentences())
    agent = [sentence for sentence in agent_sentences(7000, seed=99) if sentence not in learned]
    return {
        "eval-20": (_DATA / "eval_sentences.txt").read_text().splitlines(),
        "held-out-50": (_DATA / "held_out_sentences.txt").read_text().splitlines(),
        "agent-200": agent[-200:],
    }


def listen(source: str, name: str, texts: list[str], said: list[Samples]) -> Figures:
    """Judge utterances against their texts."""
    heard = [judges.at_asr_rate(samples, SAMPLE_RATE_HZ) for samples in said]
    wer = {
        model: 100
        * judges.word_error(texts, [judges.transcribe(samples, model) for samples in tqdm(heard, desc=model)])
        for model in judges.WHISPER_NAMES
    }
    mos = float(np.mean([judges.mean_opinion(samples) for samples in tqdm(heard, desc="mos")]))
    return Figures(source, name, len(texts), wer["base"], wer["tiny.en"], mos)


async def say_all(bundle: Path, texts: list[str], seed: int) -> list[Samples]:
    """Speak every text through a server on `bundle`, one after another."""
    settings = Settings(
        listen=ListenSettings(port=0, metrics_port=-1),
        engine=EngineSettings(bundle_dir=str(bundle)),
        log=LogSettings(level="warning"),
    )
    options = SpeechOptions(encoding=Encoding.FLOAT32, seed=seed, max_lead_s=3600.0)
    said = []
    async with App(settings) as app, AsyncClient(f"127.0.0.1:{app.port}") as client:
        for text in tqdm(texts, desc="voice"):
            audio = b"".join([chunk.audio async for chunk in client.speak(text, options)])
            said.append(np.frombuffer(audio, np.float32))
    return said


def render(spectra: npt.NDArray[np.float32], f0_hz: npt.NDArray[np.float32], seed: int) -> Samples:
    """Render tail spectra [frames, 5 * bins] with the teacher's own signal processing."""
    parts = [np.ascontiguousarray(part.T) for part in np.split(spectra, 5, 1)]
    samples: Samples = dsp.synth(*parts, f0_hz, np.random.default_rng(seed))
    return samples


def references(recipe: Recipe) -> dict[str, Callable[[str, int], Samples]]:
    """Return how the teacher and the codec (teacher latents through the bottleneck) say a text."""
    teacher, hibari = Teacher(), Hibari()

    def by_teacher(text: str, seed: int) -> Samples:
        samples: Samples = hibari(text, seed=seed)
        return samples

    if not recipe.codec.exists():
        return {"teacher": by_teacher}
    codec = load_codec(recipe.codec)

    @torch.no_grad()
    def by_codec(text: str, seed: int) -> Samples:
        sentence = trimmed_sentence(_ids(teacher, text), teacher, 1.0)
        latent = torch.from_numpy(sentence.latent.astype(np.float32))[None]
        decoded = codec.decoder(codec.encode(codec.features(latent, torch.from_numpy(sentence.f0_hz)[None])))
        predicted, log_f0, voicing = codec.split(decoded)
        f0_hz = torch.where(voicing > 0, log_f0.exp(), 0.0)[0].numpy()
        return render(codec.tail(predicted)[0].numpy(), f0_hz, seed)

    return {"codec": by_codec, "teacher": by_teacher}


def _ids(teacher: Teacher, text: str) -> list[int]:
    ids = teacher.phoneme_ids(text)
    if ids is None:
        raise ValueError("An evaluation text is not exactly one sentence to the teacher; remove it from the list.")
    return ids


def evaluate_bundle(recipe: Recipe) -> None:
    """Judge the bundle on all lists (the 20 sentences with three seeds), then codec and teacher."""
    figures = []
    for name, texts in sentence_lists().items():
        seeds = SEEDS if name == "eval-20" else SEEDS[:1]
        said = [samples for seed in seeds for samples in asyncio.run(say_all(recipe.bundle, texts, seed))]
        figures.append(listen("voice", name, texts * len(seeds), said))
        _write(figures, recipe.bundle)
    for source, say in references(recipe).items():
        for name, texts in sentence_lists().items():
            if source == "codec" and name == "agent-200":
                continue  # some are two sentences, and the codec's latents are made of one
            figures.append(listen(source, name, texts, [say(text, seed) for seed, text in enumerate(texts)]))
            _write(figures, recipe.bundle)


def _write(figures: list[Figures], bundle: Path) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(f"{json.dumps([asdict(item) for item in figures], indent=1)}\n")
    print(table(figures))
    card = bundle / "MODEL_CARD.md"
    block = f"{_BEGIN}\n{table(figures)}\n{_END}"
    card.write_text(re.sub(f"{_BEGIN}.*{_END}", block, card.read_text(), flags=re.DOTALL))
