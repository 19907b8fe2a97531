"""Writes the figures of the README out of `benchmarks/results`: `python -m benchmarks.figures`."""

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.load import LoadResult
from benchmarks.load import table as load_table
from training.evaluate_table import Figures, bars
from training.evaluate_table import table as voice_table

RESULTS = Path("benchmarks/results")
README = Path("README.md")
_BEGIN, _END = (
    "<!-- figures: from benchmarks/results; filled in from a recorded run, never by hand -->",
    "<!-- end of figures -->",
)


def figures() -> str:
    """Return the block: the voice, the load, batching, word times, and where each comes from."""
    times, batching = _read("word_times"), _read("batching")["data"]
    speeds = batching["audio_s_per_s"]
    alone = speeds["one at a time"]
    voice, robustness = [Figures(**item) for item in _read("voice_quality")], _read("robustness")
    faults = ", ".join(f"{count} {fault}" for fault, count in robustness["faults"].items()) or "no fault"
    parts = [
        "**The default voice**, through server and client (`make voice-eval`); `teacher` bounds it. Words are compared "
        "as they are spoken; `as written` is what Whisper's normalization makes of them:",
        voice_table(voice),
        bars(voice),
        f"{robustness['texts']} awkward texts, one word to sixty, odd names, emoji, other scripts "
        f"(`python -m training robustness`): {faults}.",
        f"Word starts of {times['words']} words: median error {times['median_abs_ms']} ms, "
        f"95 % within {times['p95_abs_ms']} ms.",
        "**Load**: Poisson arrivals over gRPC, two CPU cores of a machine that others use too, load generator "
        "on the same cores; `first sound` is when the first audible sample is heard "
        "(`python -m benchmarks.load voices/default`):",
        load_table([LoadResult(**item) for item in _read("load")["data"]]),
        f"**Batching**, {batching['streams']} utterances at once: {speeds['continuous']:.1f} s of speech a second, "
        f"{speeds['continuous'] / alone:.1f} times one at a time and "
        f"{speeds['continuous'] / speeds['static batches']:.2f} times static batches "
        "(`python -m benchmarks.batching voices/default`).",
    ]
    return "\n\n".join(parts)


def _read(name: str) -> Any:  # noqa: ANN401 - each file has a form of its own
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def main() -> None:
    """Replace the block in the README."""
    block = f"{_BEGIN}\n\n{figures()}\n\n{_END}"
    text = README.read_text("utf-8")
    README.write_text(
        re.sub(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", lambda _: block, text, flags=re.DOTALL), "utf-8"
    )


if __name__ == "__main__":
    main()
