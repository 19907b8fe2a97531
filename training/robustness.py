"""Says 500 texts through the real server and client and looks for what goes wrong: `python -m training robustness`.

Whisper base hears all of them, several at once. What it hears amiss is a fault of the voice only if Whisper tiny.en
hears the same, since recognizers babble and drop words too. Silence and length are measured on the samples. Writes
`benchmarks/results/robustness.json` and prints a table.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from antiphon_client.events import SegmentEnd
from server.phonemes.phoneme_frontend import PhonemeFrontend
from server.voices import VoiceCatalogue
from training import judges
from training.alignment import Alignment, align, word_error
from training.faults import length_faults, sound_faults, word_faults
from training.packing import hear_packed
from training.recipe import Recipe
from training.speaking import SAMPLE_RATE_HZ, Said, Samples, say_all
from training.spoken_texts import SpokenText, robustness_texts
from trt_engines.manifest_loading import load_manifest

RESULTS = Path("benchmarks/results/robustness.json")
SEEDS = (0,)
_ROWS_BESIDE_PHONEMES = 3
"""Two pads and the row that the first step begins with."""


@dataclass(frozen=True)
class Verdict:
    """What was found in one utterance.

    Attributes:
        number: of the text in the set, from 0.
        category: of the text.
        seed: it was spoken with.
        faults: names of what went wrong.
        heard: the words that Whisper base heard, kept where there is a fault.
    """

    number: int
    category: str
    seed: int
    faults: tuple[str, ...]
    heard: str


class Listener:
    """Judges utterances of one bundle."""

    def __init__(self, bundle: Path) -> None:
        manifest = load_manifest(bundle)
        self._frontend = PhonemeFrontend(bundle, manifest)
        self._voice = VoiceCatalogue(bundle, manifest).default

    def hear(self, texts: list[SpokenText], said: list[Said]) -> list[Alignment]:
        """Return the words of every utterance beside the right ones; what seems faulty in a pack is heard alone too."""
        sounds = [judges.at_asr_rate(item.samples, SAMPLE_RATE_HZ) for item in said]
        forms = [text.spoken for text in texts]
        progress = tqdm(desc="packs heard")

        def base(sound: Samples) -> str:
            progress.update()
            return judges.transcribe(sound, "base")

        packed = hear_packed(forms, sounds, judges.ASR_RATE_HZ, base).alignments
        return [
            min(alignment, align(form, base(sound)), key=_error_count) if word_faults(alignment) else alignment
            for form, sound, alignment in zip(forms, sounds, packed, strict=True)
        ]

    def faults(self, text: SpokenText, said: Said, heard: Alignment) -> list[str]:
        """Return what is wrong with an utterance; the faults of words that a second recognizer hears too."""
        faults = word_faults(heard)
        if faults:
            sound = judges.at_asr_rate(said.samples, SAMPLE_RATE_HZ)
            second = word_faults(align(text.spoken, judges.transcribe(sound, "tiny.en")))
            faults = [fault for fault in faults if fault in second]
        return [*faults, *sound_faults(said.samples, SAMPLE_RATE_HZ), *self._length_faults(said)]

    def _length_faults(self, said: Said) -> list[str]:
        faults = []
        for segment in said.segments:
            prepared = self._frontend.prepare(segment.text, self._voice)
            phonemes = sum(max(0, len(part.row_ids) - _ROWS_BESIDE_PHONEMES) for part in prepared)
            if segment.reason is SegmentEnd.LENGTH_LIMIT:
                faults.append("length limit")
            if phonemes:
                faults += length_faults(segment.duration_s, phonemes)
        return faults


def _error_count(alignment: Alignment) -> int:
    return alignment.error_count


def check_robustness(recipe: Recipe) -> None:
    """Speak and judge the whole set with each seed, and write the figures."""
    texts = robustness_texts()
    listener = Listener(recipe.bundle)
    verdicts, alignments = [], []
    for seed in SEEDS:
        said = asyncio.run(say_all(recipe.bundle, [text.text for text in texts], seed))
        for number, (text, item, heard) in enumerate(zip(texts, said, listener.hear(texts, said), strict=True)):
            faults = listener.faults(text, item, heard)
            alignments.append((text.category, heard))
            verdicts.append(
                Verdict(number, text.category, seed, tuple(faults), " ".join(heard.heard) if faults else "")
            )
    _write(verdicts, alignments)


def _write(verdicts: list[Verdict], alignments: list[tuple[str, Alignment]]) -> None:
    categories = list(dict.fromkeys(verdict.category for verdict in verdicts))
    errors = {name: 100 * word_error([item for of, item in alignments if of == name]) for name in categories}
    faults = Counter(fault for verdict in verdicts for fault in verdict.faults)
    figures = {
        "texts": len(verdicts),
        "seeds": list(SEEDS),
        "faults": dict(faults),
        "word_error_percent": {name: round(error, 2) for name, error in errors.items()},
        "faulty": [asdict(verdict) for verdict in verdicts if verdict.faults],
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(f"{json.dumps(figures, indent=1, ensure_ascii=False)}\n")
    print(_table(verdicts, errors))


def _table(verdicts: Iterable[Verdict], errors: dict[str, float]) -> str:
    lines = ["| texts | said | WER base % | faults |", "|---|---|---|---|"]
    grouped: dict[str, list[Verdict]] = {name: [] for name in errors}
    for verdict in verdicts:
        grouped[verdict.category].append(verdict)
    for name, group in grouped.items():
        faults = Counter(fault for verdict in group for fault in verdict.faults)
        told = ", ".join(f"{count} {fault}" for fault, count in faults.items()) or "none"
        lines.append(f"| {name} | {len(group)} | {errors[name]:.1f} | {told} |")
    return "\n".join(lines)
