"""Fish Speech beside the original: its own generate loop and ours, same random weights, same lengths, same machine.

    git clone --branch v1.5.1 https://github.com/fishaudio/fish-speech build/original
    pip install einops                                   # the one thing its talker needs that we do not
    python -m benchmarks.fish_full_size build/fish-full
    python -m benchmarks.fish_beside_original build/fish-full --original build/original

Both speak the same prompt for the same number of frames in float32: one request, and eight requests, theirs one after
the other (it knows no batch), ours together. Each runs in a process of its own, in turn, so that neither has the
other's memory. Of the original only its talker is run; what its files import for training alone is replaced by empty
stand-ins where it is not installed. Nothing of it is part of this project.
"""

import argparse
import importlib.abc
import importlib.machinery
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np

from trt_engines.base import PrefillChunk, StepFrame, StepRequest
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

_PARAMS = {"temperature": 0.7, "top_p": 0.7, "repetition_penalty": 1.2}
_PROMPT_ROWS = 64
_WARM_UP_FRAMES = 3
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


def main() -> None:
    """Measure both and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="directory of benchmarks.fish_full_size, with checkpoint and bundle")
    parser.add_argument("--original", type=Path, required=True, help="checkout of the original at v1.5.1")
    parser.add_argument("--bundle", default="bundle-float32")
    parser.add_argument("--frames", type=int, default=32)
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--side", choices=["theirs", "ours"], help="run one side in this process (used internally)")
    options = parser.parse_args()
    if options.side:
        counts = (1, options.requests)
        side = theirs if options.side == "theirs" else ours
        print(json.dumps(side(options, counts)))
        return
    frames_per_s = {side: _side(side) for side in ("theirs", "ours")}
    one, many = ("1", str(options.requests))
    gains = {count: round(frames_per_s["ours"][count] / frames_per_s["theirs"][count], 2) for count in (one, many)}
    print(json.dumps({"command": " ".join(sys.argv), "frames_per_s": frames_per_s, "times_as_fast": gains}, indent=2))


def _side(side: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.fish_beside_original", *sys.argv[1:], "--side", side]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, float] = json.loads(printed.splitlines()[-1])
    return result


def ours(options: argparse.Namespace, request_counts: Sequence[int]) -> dict[int, float]:
    """Return frames per second of the bundle, by the number of requests spoken together."""
    engine = load_engine(options.work / options.bundle, EngineOptions(max(request_counts), options.threads))
    rows, params = prompt(options.work / "checkpoint"), tuple(_PARAMS.values())

    def speak(count: int, frames: int) -> None:
        for start in range(0, len(rows), engine.manifest.prefill.chunk_rows):
            part = rows[start : start + engine.manifest.prefill.chunk_rows]
            is_last = start + len(part) == len(rows)
            engine.talker.prefill([PrefillChunk(slot, part, start, is_last) for slot in range(count)])
        for index in range(frames):
            made = engine.talker.step([StepRequest(slot, params, slot, index) for slot in range(count)])
            assert all(isinstance(frame, StepFrame) for frame in made)

    try:
        speak(1, _WARM_UP_FRAMES)
        return {count: _rate(count, options.frames, speak) for count in request_counts}
    finally:
        engine.close()


def theirs(options: argparse.Namespace, request_counts: Sequence[int]) -> dict[int, float]:
    """Return frames per second of the original, by the number of requests spoken one after the other."""
    sys.meta_path.append(_StandIns())
    sys.path.insert(0, str(options.original))
    import torch
    from fish_speech.models.text2semantic import inference  # type: ignore[import-not-found]  # is the original's

    torch.set_num_threads(options.threads)
    model, decode = inference.load_model(options.work / "checkpoint", "cpu", torch.float32)
    with torch.no_grad(), torch.device("cpu"):
        model.setup_caches(max_batch_size=1, max_seq_len=model.config.max_seq_len, dtype=torch.float32)
    columns = torch.from_numpy(prompt(options.work / "checkpoint").T.astype(np.int64))

    def speak(count: int, frames: int) -> None:
        for _ in range(count):
            with torch.no_grad():
                inference.generate(
                    model=model, prompt=columns, max_new_tokens=frames, decode_one_token=decode, **_PARAMS
                )

    speak(1, _WARM_UP_FRAMES)
    return {count: _rate(count, options.frames, speak) for count in request_counts}


def _rate(count: int, frames: int, speak: Any) -> float:  # noqa: ANN401 - a function of two integers
    began_s = time.perf_counter()
    speak(count, frames)
    return round(count * frames / (time.perf_counter() - began_s), 3)


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
