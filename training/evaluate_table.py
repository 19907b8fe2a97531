"""What the judges say about a voice, the table of it, and the bars; without torch, so that anybody can print it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Figures:
    """What the judges say about one voice on one list of sentences.

    Attributes:
        source: `voice`, `voice <name>` for one of the others, `codec` or `teacher`.
        sentences: name of the list.
        count: utterances heard.
        wer_base, wer_tiny: word error of Whisper base and tiny.en against the spoken form, in percent.
        wer_written: word error of Whisper base against the text as written, after Whisper's normalization, in percent.
        mos: mean DistillMOS.
    """

    source: str
    sentences: str
    count: int
    wer_base: float
    wer_tiny: float
    wer_written: float
    mos: float


@dataclass(frozen=True)
class Bar:
    """What a figure of the voice must reach.

    Attributes:
        sentences: name of the list.
        measure: attribute of `Figures`.
        limit: the figure at which it is reached.
        name: what it is called in a report.
    """

    sentences: str
    measure: str
    limit: float
    name: str

    def holds(self, figures: Figures) -> bool:
        """Return whether it is reached: opinions from below, errors from above."""
        value = getattr(figures, self.measure)
        return bool(value >= self.limit if self.measure == "mos" else value <= self.limit)

    def report(self, figures: Figures) -> str:
        """Return a line that says so."""
        sign, unit = (">=", "") if self.measure == "mos" else ("<=", " %")
        verdict = "pass" if self.holds(figures) else "FAIL"
        value = getattr(figures, self.measure)
        return f"| {self.name} | {self.sentences} | {sign} {self.limit:.1f}{unit} | {value:.2f}{unit} | {verdict} |"


BARS = (
    Bar("eval-20", "wer_base", 3.0, "word error, Whisper base"),
    Bar("agent-200", "wer_base", 5.0, "word error, Whisper base, spoken form"),
    Bar("eval-20", "mos", 4.0, "DistillMOS"),
)
MEAN_BAR = Bar("eval-20", "mos", 3.6, "DistillMOS, mean of all voices")


def table(figures: list[Figures]) -> str:
    """Return the figures as a Markdown table."""
    lines = [
        "| what | sentences | heard | WER base % | WER tiny.en % | as written % | DistillMOS |",
        "|---|---|---|---|---|---|---|",
    ]
    for item in figures:
        errors = f"{item.wer_base:.1f} | {item.wer_tiny:.1f} | {item.wer_written:.1f}"
        lines.append(f"| {item.source} | {item.sentences} | {item.count} | {errors} | {item.mos:.2f} |")
    return "\n".join(lines)


def bars(figures: list[Figures]) -> str:
    """Return the bars of the voice, each with what was measured and whether it holds, as a Markdown table."""
    measured = {item.sentences: item for item in figures if item.source == "voice"}
    lines = ["| bar | sentences | asked | measured | |", "|---|---|---|---|---|"]
    lines += [bar.report(measured[bar.sentences]) for bar in BARS if bar.sentences in measured]
    voices = [item for item in figures if item.source.startswith("voice") and item.sentences == MEAN_BAR.sentences]
    if len(voices) > 1:
        mean = sum(item.mos for item in voices) / len(voices)
        lines.append(MEAN_BAR.report(replace(voices[0], mos=mean)))
    return "\n".join(lines)
