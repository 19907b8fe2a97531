"""Fish Speech beside the original: its own generate loop and ours, same random weights, same lengths, same machine.

    git clone --branch v1.5.1 https://github.com/fishaudio/fish-speech build/original
    pip install einops                                   # the one thing its talker needs that we do not
    python -m benchmarks.fish_full_size build/fish-full
    python -m benchmarks.fish_beside_original build/fish-full --original build/original

Both speak the same prompt for the same number of frames in float32: one request, and eight requests, theirs one after
the other (it knows no batch), ours together. The original is run twice: as it is, where every frame attends to a cache
of 8192 positions, and with a cache no longer than this run needs, which it has no option for. Each side runs in a
process of its own, so that none has the other's memory, and can be run again by itself (`--sides`). Of the original
only its talker is run; what its files import for training alone is replaced by empty stand-ins where it is not
installed. Nothing of it is part of this project.
"""

import argparse
import functools
import importlib.abc
import importlib.machinery
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np

from benchmarks.quartiles import allow_realtime
from benchmarks.record import RESULTS, record
from trt_engines.base import PrefillChunk, StepFrame, StepRequest
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

Speak = Callable[[int, int], None]
"""Speaks a number of requests, each of a number of frames."""

_PARAMS = {"temperature": 0.7, "top_p": 0.7, "repetition_penalty": 1.2}
_PROMPT_ROWS = 64
_FEW_FRAMES = 2
SHORT_CACHE = "theirs-short-cache"
SIDES = ("theirs", SHORT_CACHE, "ours")
_NOT_NEEDED = (
    "datasets",
    "hydra",
    "lightning",
    "lightning_utilities",
    "loguru",
    "loralib",
    "natsort",
    "omegaconf",
    "pyrootutils",
    "pytorch_lightning",
    "rich",
    "transformers",
)


@dataclass(frozen=True)
class Times:
    """Seconds of one side: to speak a few frames once, the full number once, and the full number for all requests."""

    few_s: float
    one_s: float
    all_s: float

    def figures(self, frames: int, requests: int) -> dict[str, float]:
        """Return what is compared: frames per second with the prompt's prefill, and milliseconds of a further frame."""
        return {
            "frames_per_s_1": round(frames / self.one_s, 3),
            f"frames_per_s_{requests}": round(requests * frames / self.all_s, 3),
            "ms_a_further_frame_1": round((self.one_s - self.few_s) / (frames - _FEW_FRAMES) * 1e3, 1),
        }


def main() -> None:
    """Measure, print and record."""
    options = arguments()
    if options.measure:
        if options.realtime:
            allow_realtime()
        print(json.dumps(measured(options).figures(options.frames, options.requests)))
        return
    path = RESULTS / f"{options.name}.json"
    results: dict[str, Any] = json.loads(path.read_text("utf-8"))["data"] if path.exists() else {}
    results |= {"frames": options.frames, "requests": options.requests, "prompt_rows": _PROMPT_ROWS}
    sides: dict[str, dict[str, float]] = results.setdefault("sides", {})
    for side in options.sides:
        label = f"{side} {options.bundle}" if side == "ours" else side
        sides[label] = _apart(side) | {"load_average": round(os.getloadavg()[0], 1)}
    results["times_as_fast"] = times_as_fast(sides)
    record(options.name, results)
    print(json.dumps(results, indent=2))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="directory of benchmarks.fish_full_size, with checkpoint and bundle")
    parser.add_argument("--original", type=Path, required=True, help="checkout of the original at v1.5.1")
    parser.add_argument("--bundle", default="bundle-float32")
    parser.add_argument("--frames", type=int, default=32)
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES, help="what to run (default: everything)")
    parser.add_argument("--name", default="fish_beside_original", help="of the file of results")
    parser.add_argument("--realtime", action="store_true", help="run with real-time priority (Linux, as root)")
    parser.add_argument("--measure", choices=SIDES, help="run one side in this process (used internally)")
    return parser.parse_args()


def times_as_fast(sides: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return by how much each of our bundles is faster than each form of the original, by figure."""
    return {
        f"{ours} / {theirs}": {
            key.removeprefix("frames_per_s_"): round(sides[ours][key] / sides[theirs][key], 2)
            for key in sides[ours]
            if key.startswith("frames_per_s_")
        }
        for ours in sides
        for theirs in sides
        if ours.startswith("ours") and theirs.startswith("theirs")
    }


def _apart(side: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.fish_beside_original", *sys.argv[1:], "--measure", side]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, float] = json.loads(printed.splitlines()[-1])
    return result


def measured(options: argparse.Namespace) -> Times:
    """Run one side: a warm-up, then one request of few frames and of all, then all requests."""
    speak = ours(options) if options.measure == "ours" else theirs(options)
    speak(1, _FEW_FRAMES)
    lengths = ((1, _FEW_FRAMES), (1, options.frames), (options.requests, options.frames))
    return Times(*(_seconds(functools.partial(speak, *length)) for length in lengths))


def ours(options: argparse.Namespace) -> Speak:
    """Return what speaks a number of requests together with the bundle."""
    engine = load_engine(options.work / options.bundle, EngineOptions(options.requests, options.threads))
    rows, params = prompt(options.work / "checkpoint"), tuple(_PARAMS.values())

    def speak(count: int, frames: int) -> None:
        for start in range(0, len(rows), engine.manifest.prefill.chunk_rows):
            part = rows[start : start + engine.manifest.prefill.chunk_rows]
            is_last = start + len(part) == len(rows)
            engine.talker.prefill([PrefillChunk(slot, part, start, is_last) for slot in range(count)])
        for index in range(frames):
            made = engine.talker.step([StepRequest(slot, params, slot, index) for slot in range(count)])
            assert all(isinstance(frame, StepFrame) for frame in made)

    return speak


def theirs(options: argparse.Namespace) -> Speak:
    """Return what speaks a number of requests one after the other with the original."""
    sys.meta_path.append(_StandIns())
    sys.path.insert(0, str(options.original))
    import torch
    from fish_speech.models.text2semantic import inference  # type: ignore[import-not-found]  # is the original's

    torch.set_num_threads(options.threads)
    model, decode = inference.load_model(options.work / "checkpoint", "cpu", torch.float32)
    positions = _PROMPT_ROWS + options.frames if options.measure == SHORT_CACHE else model.config.max_seq_len
    with torch.no_grad(), torch.device("cpu"):
        model.setup_caches(max_batch_size=1, max_seq_len=positions, dtype=torch.float32)
    columns = torch.from_numpy(prompt(options.work / "checkpoint").T.astype(np.int64))

    def speak(count: int, frames: int) -> None:
        for _ in range(count):
            with torch.no_grad():
                inference.generate(
                    model=model, prompt=columns, max_new_tokens=frames, decode_one_token=decode, **_PARAMS
                )

    return speak


def _seconds(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def prompt(checkpoint: Path) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return the rows of a prompt of random text."""
    config = json.loads((checkpoint / "config.json").read_text())
    rows = np.zeros((_PROMPT_ROWS, 1 + config["num_codebooks"]), np.int32)
    rows[:, 0] = np.random.default_rng(0).integers(0, 256, _PROMPT_ROWS)
    return rows


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives an empty module for each of _NOT_NEEDED that is not installed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the stand-in of a module."""
        del path, target
        if name.partition(".")[0] not in _NOT_NEEDED:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Make it: anything asked of it is there and does nothing."""
        return MagicMock(name=spec.name, __path__=[])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is to be run."""


if __name__ == "__main__":
    main()
