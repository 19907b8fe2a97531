"""A Fish Speech bundle of the true sizes of 1.5, from random weights: export, proof, memory and speed on this machine.

    python -m benchmarks.fish_full_size build/fish-full              # 7 GB of disk; some minutes
    python -m benchmarks.fish_full_size build/fish-small --small     # a rehearsal

Writes a random checkpoint, builds and proves a bundle of it in a process of its own, runs the bundle in another one,
and prints what each took as JSON. The floor of a step is the time to read, from memory, every weight as often as a
step uses it (the depth transformer's seven times), at the rate of a dot product over a gigabyte.
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

from benchmarks.quartiles import quartiles_s
from benchmarks.step_floor import StepTimer, dot_product
from trt_engines.base import Engine, PrefillChunk, VocodeItem
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

_POSITIONS = 96
_GIGABYTE = 1 << 30
_CALL_FRAMES = 8


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path, help="directory for checkpoint and bundle; what is there is used again")
    parser.add_argument("--small", action="store_true", help="rehearse with a small model")
    parser.add_argument("--storage", default="float32", help="of the talker's weights: float32, float16, packed, int8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--measure-only", action="store_true", help="run the bundle in this process (used internally)")
    options = parser.parse_args()
    bundle = options.work / f"bundle-{options.storage}"
    if options.measure_only:
        print(json.dumps(measured(bundle, options.threads, options.rows)))
        return
    checkpoint = options.work / "checkpoint"
    results: dict[str, Any] = {"command": " ".join(sys.argv), "cores": os.cpu_count(), "storage": options.storage}
    if not checkpoint.is_dir():
        small = ["--small"] if options.small else []
        results["checkpoint"] = usage(["benchmarks.fish_random_checkpoint", str(checkpoint), *small])[0]
    if not bundle.is_dir():
        place = ["--checkpoint", str(checkpoint), "--out", str(bundle), "--storage", options.storage]
        results["build"] = usage(["build_engines", "fish-speech-1.5", *place])[0]
    results["bundle_bytes"] = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
    results["verification"] = json.loads((bundle / "manifest.json").read_text())["verification"]
    results["run"], printed = usage(["benchmarks.fish_full_size", *sys.argv[1:], "--measure-only"])
    results.update(json.loads(printed))
    print(json.dumps(results, indent=2))


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


def measured(bundle: Path, threads: int, rows: Sequence[int]) -> dict[str, Any]:
    """Load a bundle and time its operations."""
    began_s = time.perf_counter()
    engine = load_engine(bundle, EngineOptions(max(rows), threads))
    load_s = time.perf_counter() - began_s
    try:
        steps = StepTimer(engine, _POSITIONS)
        works = [*(steps.work(count) for count in rows), dot_product(_GIGABYTE), prefill_of(engine), vocode_of(engine)]
        *step_s, read_s, prefill_s, vocode_s = quartiles_s(works, steps.make_room)
    finally:
        engine.close()
    frame_s = 1.0 / engine.manifest.audio.frame_rate_hz
    step_bytes = bytes_read(bundle / engine.manifest.step.graph)
    return {
        "load_s": round(load_s, 1),
        "threads": threads,
        "bytes_read_per_step": step_bytes,
        "read_bytes_per_s": round(_GIGABYTE / read_s),
        "floor_ms": round(step_bytes / (_GIGABYTE / read_s) * 1e3, 2),
        "step_ms": {count: round(seconds * 1e3, 2) for count, seconds in zip(rows, step_s, strict=True)},
        "frame_ms": round(frame_s * 1e3, 2),
        "prefill_ms_per_row": round(prefill_s / engine.manifest.prefill.chunk_rows * 1e3, 2),
        "vocode_real_time_factor": round(vocode_s / (_CALL_FRAMES * frame_s), 3),
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
    return total


if __name__ == "__main__":
    main()
