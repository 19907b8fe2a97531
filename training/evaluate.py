"""Listens by numbers to the shipped bundle, through the real server and client, beside the codec and the teacher.

Writes `benchmarks/results/voice_quality.json` and the table of the bundle's model card, and says of each bar of the
voice whether it holds. Without a codec checkpoint (a clone that has not retrained) the row of the codec is left out.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from hibari import Hibari, dsp
from tqdm import tqdm

from training import judges
from training.alignment import word_error
from training.dataset import trimmed_sentence
from training.evaluate_table import Figures, bars, table
from training.packing import hear_packed
from training.recipe import Recipe
from training.speaking import SAMPLE_RATE_HZ, Samples, say_all
from training.spoken_texts import SpokenText, new_agent_texts
from training.teacher import Teacher
from training.tokens import load_codec

SEEDS = (0, 1, 2)
RESULTS = Path("benchmarks/results/voice_quality.json")
_BEGIN, _END = "<!-- figures -->", "<!-- end of figures -->"
_DATA = Path(__file__).parent / "data"


def sentence_lists() -> dict[str, list[SpokenText]]:
    """Return the lists: 20 for evaluation, 50 held out of the training domains, 200 of the kind agents speak."""
    names = {"eval-20": "eval_sentences.txt", "held-out-50": "held_out_sentences.txt"}
    prose = {name: (_DATA / file).read_text().splitlines() for name, file in names.items()}
    lists = {name: [SpokenText(name, text, text) for text in texts] for name, texts in prose.items()}
    return {**lists, "agent-200": new_agent_texts(200, seed=99)}


def listen(source: str, name: str, texts: list[SpokenText], said: list[Samples]) -> Figures:
    """Judge utterances against their texts."""
    sounds = [judges.at_asr_rate(samples, SAMPLE_RATE_HZ) for samples in said]
    spoken = [text.spoken for text in texts]
    hearings = {
        model: hear_packed(spoken, sounds, judges.ASR_RATE_HZ, partial(judges.transcribe, name=model))
        for model in tqdm(judges.WHISPER_NAMES, desc="heard")
    }
    errors = {model: 100 * word_error(hearing.alignments) for model, hearing in hearings.items()}
    base = hearings["base"]
    joined = [" ".join(texts[index].text for index in pack) for pack in base.packs]
    written = 100 * judges.written_word_error(joined, list(base.written))
    mos = float(np.mean([judges.mean_opinion(samples) for samples in tqdm(sounds, desc="mos")]))
    return Figures(source, name, len(texts), errors["base"], errors["tiny.en"], written, mos)


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


def voice_names(bundle: Path) -> list[str]:
    """Return the names of the voices of a bundle; the first one is the default voice."""
    return sorted(path.stem for path in (bundle / "voices").glob("*.json"))


def _ids(teacher: Teacher, text: str) -> list[int]:
    ids = teacher.phoneme_ids(text)
    if ids is None:
        raise ValueError("An evaluation text is not exactly one sentence to the teacher; remove it from the list.")
    return ids


def evaluate_bundle(recipe: Recipe) -> None:
    """Judge the bundle on all lists (the 20 sentences with three seeds), its other voices, then codec and teacher."""
    figures = []
    for name, texts in sentence_lists().items():
        seeds = SEEDS if name == "eval-20" else SEEDS[:1]
        written = [text.text for text in texts]
        said = [item.samples for seed in seeds for item in asyncio.run(say_all(recipe.bundle, written, seed))]
        figures.append(listen("voice", name, texts * len(seeds), said))
        _write(figures, recipe.bundle)
    texts = sentence_lists()["eval-20"]
    for voice in voice_names(recipe.bundle)[1:]:
        said = [item.samples for item in asyncio.run(say_all(recipe.bundle, [text.text for text in texts], 0, voice))]
        figures.append(listen(f"voice {voice}", "eval-20", texts, said))
        _write(figures, recipe.bundle)
    for source, say in references(recipe).items():
        for name, texts in sentence_lists().items():
            if source == "codec" and name == "agent-200":
                continue  # some are two sentences, and the codec's latents are made of one
            figures.append(listen(source, name, texts, [say(text.text, seed) for seed, text in enumerate(texts)]))
            _write(figures, recipe.bundle)


def _write(figures: list[Figures], bundle: Path) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(f"{json.dumps([asdict(item) for item in figures], indent=1)}\n")
    print(f"{table(figures)}\n\n{bars(figures)}")
    card = bundle / "MODEL_CARD.md"
    block = f"{_BEGIN}\n{table(figures)}\n\n{bars(figures)}\n{_END}"
    card.write_text(re.sub(f"{_BEGIN}.*{_END}", block, card.read_text(), flags=re.DOTALL))
