"""What the judges say about a voice, and the table of it; without torch, so that anybody can print it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """What the judges say about one voice on one list of sentences.

    Attributes:
        source: `voice`, `codec` or `teacher`.
        sentences: name of the list.
        count: utterances heard.
        wer_base, wer_tiny: word error of Whisper base and tiny.en, in percent.
        mos: mean DistillMOS.
    """

    source: str
    sentences: str
    count: int
    wer_base: float
    wer_tiny: float
    mos: float


def table(figures: list[Figures]) -> str:
    """Return the figures as a Markdown table."""
    lines = ["| what | sentences | heard | WER base % | WER tiny.en % | DistillMOS |", "|---|---|---|---|---|---|"]
    for item in figures:
        numbers = f"{item.count} | {item.wer_base:.1f} | {item.wer_tiny:.1f} | {item.mos:.2f}"
        lines.append(f"| {item.source} | {item.sentences} | {numbers} |")
    return "\n".join(lines)
