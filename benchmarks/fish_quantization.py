"""The report on rounding the weights of a Fish Speech bundle: size, speed, memory and quality, a column per storage.

    python -m benchmarks.fish_full_size build/fish-full                                             # float32 first
    python -m benchmarks.fish_full_size build/fish-full --storage int8 --codec-storage int8
    python -m benchmarks.fish_full_size build/fish-full --storage int4 --codec-storage int8
    python -m benchmarks.fish_quantization

Puts side by side what these runs have recorded, prints it as a table in Markdown and keeps it as JSON. Sizes, times and
memory mean the same on random weights as on trained ones. How far logits and spectra are off, and how many likeliest
ids and codes stay the same, means something for a voice on trained weights only; docs/how-to/fish-speech.md says why.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.record import RESULTS, record

STORAGES = ("float32", "int8", "int4")
_PARTS_OF = {"talker": ("prefill", "step"), "codec": ("vocode", "encode")}

Report = dict[str, dict[str, float]]


def main() -> None:
    """Print the report and record it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", choices=["full", "small"], default="full", help="which runs (default full)")
    parser.add_argument("--storages", nargs="+", default=STORAGES)
    options = parser.parse_args()
    runs = {storage: _run(f"fish_{options.size}_size_{storage}") for storage in options.storages}
    made = report(runs)
    record("fish_quantization" if options.size == "full" else "fish_small_quantization", made)
    print(table(made, list(runs)))


def report(runs: Mapping[str, Mapping[str, Any]]) -> Report:
    """Return the value of every measure for every storage; a measure that a storage lacks is left out there."""
    made: Report = {}
    for storage, run in runs.items():
        for measure, value in _measures(run).items():
            made.setdefault(measure, {})[storage] = value
    return made


def table(made: Report, storages: Sequence[str]) -> str:
    """Return the report in Markdown."""
    lines = [f"| | {' | '.join(storages)} |", f"|---|{'---|' * len(storages)}"]
    for measure, values in made.items():
        cells = [_cell(values[storage]) if storage in values else "" for storage in storages]
        lines.append(f"| {measure} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _measures(run: Mapping[str, Any]) -> dict[str, float]:
    build, step, calls = (run.get(part, {}) for part in ("build", "step", "calls"))
    measures = {
        f"{part} on disk, MB": sum(size for name, size in build["graph_bytes"].items() if name.startswith(names)) / 1e6
        for part, names in _PARTS_OF.items()
    }
    for rows, taken_ms in step.get("step_ms", {}).items():
        measures[f"talker, ms a frame at {rows} row{'s' * (rows != '1')}"] = taken_ms
    if step:
        measures["talker, ms to read its weights once"] = step["floor_ms"]
    if calls:
        measures["peak memory of the engine, MB"] = calls["peak_memory_bytes"] / 1e6
        measures["talker, ms a row of a prompt"] = calls["prefill_ms_per_row"]
        measures["codec, s of work a s of speech"] = calls["vocode_real_time_factor"]
    if "wall_s" in build:
        measures["build and proof, s"] = build["wall_s"]
        measures["peak memory of the build, MB"] = build["peak_memory_bytes"] / 1e6
    return measures | {f"{item['part']}, {item['measure']}": item["value"] for item in build["quality"]}


def _cell(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _run(name: str) -> Mapping[str, Any]:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"{path} does not exist. Run benchmarks.fish_full_size for this storage first.")
    data: Mapping[str, Any] = json.loads(path.read_text("utf-8"))["data"]
    return data


if __name__ == "__main__":
    main()
