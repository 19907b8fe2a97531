"""A Fish Speech bundle of the true sizes of 1.5, from random weights: export, proof, memory and speed on this machine.

    python -m benchmarks.fish_full_size build/fish-full                      # 7 GB of disk; some minutes
    python -m benchmarks.fish_full_size build/fish-full --storage int8 --codec-storage int8
    python -m benchmarks.fish_full_size build/fish-full --parts step         # one part again; keeps the others' results
    python -m benchmarks.fish_full_size build/fish-small --small             # a rehearsal

Writes a random checkpoint, builds and proves a bundle of it in a process of its own, runs the bundle in another one,
and records what each took. The floor of a step is the time to read, from memory, every weight as often as a step uses
it (the depth transformer's seven times), at the rate at which all threads together read a gigabyte.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.quartiles import allow_realtime, quartiles_s
from benchmarks.record import RESULTS, record
from benchmarks.step_floor import StepTimer, reading
from trt_engines.base import Engine, PrefillChunk, VocodeItem
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

_POSITIONS = 96
_GIGABYTE = 1 << 30
_CALL_FRAMES = 8
_ROUNDS = 6
_PARTS = ("build", "step", "calls")


def main() -> None:
    """Measure, print and record."""
    options = arguments()
    bundle = options.work / f"bundle-{options.storage}"
    if options.measure:
        if options.realtime:
            allow_realtime()
        print(json.dumps(measured(options.measure, bundle, options.threads, options.rows)))
        return
    name = f"fish_{'small' if options.small else 'full'}_size_{options.storage}"
    results: dict[str, Any] = _recorded(name)
    results |= {"storage": options.storage, "codec_storage": options.codec_storage, "threads": options.threads}
    for part in options.parts:
        results[part] = built(options, bundle) if part == "build" else _measured_apart(part)
    record(name, results)
    print(json.dumps(results, indent=2))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="directory for checkpoint and bundle; what is there is used again")
    parser.add_argument("--small", action="store_true", help="rehearse with a small model")
    parser.add_argument("--storage", default="float32", help="of the talker: float32, float16, packed, int8, int4")
    parser.add_argument("--codec-storage", default="float32", help="of the codec")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=_PARTS, help="what to do (default: everything)")
    parser.add_argument("--realtime", action="store_true", help="run with real-time priority (Linux, as root)")
    parser.add_argument("--measure", choices=_PARTS[1:], help="measure a part in this process (used internally)")
    return parser.parse_args()


def built(options: argparse.Namespace, bundle: Path) -> dict[str, Any]:
    """Write checkpoint and bundle where they are missing; return what that took, and what the bundle says of itself."""
    checkpoint, taken = options.work / "checkpoint", dict[str, Any]()
    if not checkpoint.is_dir():
        small = ["--small"] if options.small else []
        taken["checkpoint"] = usage(["benchmarks.fish_random_checkpoint", str(checkpoint), *small])[0]
    if not bundle.is_dir():
        place = ["--checkpoint", str(checkpoint), "--out", str(bundle)]
        storage = ["--storage", options.storage, "--codec-storage", options.codec_storage]
        taken |= usage(["build_engines", "fish-speech-1.5", *place, *storage])[0]
    manifest = json.loads((bundle / "manifest.json").read_text())
    bytes_of = {path.name: path.stat().st_size for path in sorted((bundle / "graphs").iterdir())}
    return {**taken, "graph_bytes": bytes_of, **{key: manifest[key] for key in ("verification", "quality")}}


def _measured_apart(part: str) -> dict[str, Any]:
    taken, printed = usage(["benchmarks.fish_full_size", *sys.argv[1:], "--measure", part])
    return {**taken, "load_average": round(os.getloadavg()[0], 1), **json.loads(printed)}


def _recorded(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))["data"] if path.exists() else {}
    return data


def usage(module: Sequence[str]) -> tuple[dict[str, float], str]:
    """Run a module in a process of its own; return the seconds and the most memory it took, and what it printed."""
    began_s = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", *module], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None  # it was asked for
    printed = child.stdout.read()
    _, status, taken = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"python -m {' '.join(module)} failed with exit code {child.returncode}.")
    wall_s = time.perf_counter() - began_s
    return {"wall_s": round(wall_s, 1), "peak_memory_bytes": float(taken.ru_maxrss * 1024)}, printed


def measured(part: str, bundle: Path, threads: int, rows: Sequence[int]) -> dict[str, Any]:
    """Load a bundle and time one part of its operations."""
    began_s = time.perf_counter()
    engine = load_engine(bundle, EngineOptions(max(rows), threads))
    load_s = time.perf_counter() - began_s
    try:
        measure = step_times if part == "step" else call_times
        return {"load_s": round(load_s, 1), **measure(engine, bundle, threads, rows)}
    finally:
        engine.close()


def step_times(engine: Engine, bundle: Path, threads: int, rows: Sequence[int]) -> dict[str, Any]:
    """Time steps of these numbers of rows, in turn with reading a gigabyte."""
    steps = StepTimer(engine, [_POSITIONS] * max(rows))
    works = [*(steps.work(count) for count in rows), reading(_GIGABYTE, threads)]
    *step_s, read_s = quartiles_s(works, steps.make_room, _ROUNDS)
    step_bytes = bytes_read(bundle / engine.manifest.step.graph)
    return {
        "bytes_read_per_step": step_bytes,
        "read_bytes_per_s": round(_GIGABYTE / read_s),
        "floor_ms": round(step_bytes / (_GIGABYTE / read_s) * 1e3, 2),
        "step_ms": {str(count): round(seconds * 1e3, 2) for count, seconds in zip(rows, step_s, strict=True)},
        "frame_ms": round(1e3 / engine.manifest.audio.frame_rate_hz, 2),
    }


def call_times(engine: Engine, bundle: Path, threads: int, rows: Sequence[int]) -> dict[str, Any]:
    """Time a prefill of a full chunk, and a call of the vocoder."""
    del bundle, threads, rows
    prefill_s, vocode_s = quartiles_s([prefill_of(engine), vocode_of(engine)], rounds=_ROUNDS)
    return {
        "prefill_ms_per_row": round(prefill_s / engine.manifest.prefill.chunk_rows * 1e3, 2),
        "vocode_real_time_factor": round(vocode_s / (_CALL_FRAMES / engine.manifest.audio.frame_rate_hz), 3),
    }


def prefill_of(engine: Engine) -> Callable[[], object]:
    """Return a prefill of one full chunk into a slot, of other rows each time, since known ones are only copied."""
    rows = np.ones((engine.manifest.prefill.chunk_rows, len(engine.manifest.row.columns)), np.int32)

    def prefill() -> None:
        rows[0, 0] += 1
        engine.talker.prefill([PrefillChunk(0, rows.copy(), 0, is_last=False)])

    return prefill


def vocode_of(engine: Engine) -> Callable[[], object]:
    """Return a call of the vocoder in the middle of a stream."""
    frames = np.ones((_CALL_FRAMES, engine.manifest.frame.width), np.int32)
    engine.vocoder.vocode([VocodeItem(0, frames, 0, is_first=True, is_last=False)])
    return lambda: engine.vocoder.vocode([VocodeItem(0, frames, 0, is_first=False, is_last=False)])


def bytes_read(path: Path) -> int:
    """Return the bytes of weights that one run of a graph multiplies by, counted at each use, as they lie in memory."""
    graph = onnx.load(path, load_external_data=False).graph
    sizes = {tensor.name: int(np.prod(tensor.dims)) for tensor in graph.initializer}
    origin = {node.output[0]: node.input[0] for node in graph.node if node.op_type in ("Cast", "Transpose", "Reshape")}
    total = 0
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulNBits"):
            continue
        name = node.input[1]
        while name in origin:
            name = origin[name]
        total += sizes.get(name, 0) * (1 if node.op_type == "MatMulNBits" else 4)
        total += 4 * sizes[node.input[2]] if node.op_type == "MatMulNBits" else 0
    return total


if __name__ == "__main__":
    main()
