"""Texts with what a listener should hear: the robustness set, and its file format.

The file holds categories in brackets, then one text a line; behind a tab its spoken form where the words to be heard
are not those that are written.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from training.templates import agent_utterances
from training.texts import read_sentences

ROBUSTNESS = Path(__file__).parent / "data" / "robustness_sentences.txt"
_CATEGORY = re.compile(r"\[([a-z ]+)\]")
_AGENT_POOL = 7000
_TEMPLATE_COUNT, _TEMPLATE_SEED = 100, 500


@dataclass(frozen=True)
class SpokenText:
    """A text and the words that it is spoken as.

    Attributes:
        category: what kind of text it is.
        text: as it is sent to the server.
        spoken: as it should be heard, in words.
    """

    category: str
    text: str
    spoken: str


def read_spoken_texts(lines: list[str]) -> list[SpokenText]:
    """Read the lines of a file of this format; lines before the first category are comments."""
    texts: list[SpokenText] = []
    category = ""
    for line in lines:
        heading = _CATEGORY.fullmatch(line)
        if heading:
            category = heading[1]
        elif category and line:
            text, _, spoken = line.partition("\t")
            texts.append(SpokenText(category, text, spoken or text))
    return texts


def new_agent_texts(count: int, seed: int) -> list[SpokenText]:
    """Return template sentences that the voice did not learn from."""
    learned = set(read_sentences())
    made = [pair for pair in agent_utterances(_AGENT_POOL, seed) if pair[0] not in learned]
    return [SpokenText("templates", text, spoken) for text, spoken in made[-count:]]


def robustness_texts() -> list[SpokenText]:
    """Return the 500: four hundred of the file and a hundred of the templates."""
    written = read_spoken_texts(ROBUSTNESS.read_text().splitlines())
    return written + new_agent_texts(_TEMPLATE_COUNT, _TEMPLATE_SEED)
