"""How to use two threads for a step: times of four ways at 1 to 32 rows. Its result is `row_shards` and `Lanes`.

    sudo python -m benchmarks.step_lanes voices/default --realtime

The ways: one session with one thread; one session with a pool of two; two single-threaded sessions, each with half of
the rows and weights of its own; one single-threaded session that two threads run at once, each on half of the rows.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import onnxruntime as ort

from benchmarks.quartiles import allow_realtime, quartiles_s
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest
from trt_engines.onnx_runtime.bound_run import BoundRun
from trt_engines.onnx_runtime.kv_memory import KvMemory
from trt_engines.onnx_runtime.step_memory import StepMemory

WAYS = ("one thread", "pool of two", "two sessions", "one session, two threads")


def main() -> None:
    """Measure and print a table of milliseconds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 2, 3, 4, 8, 16, 32])
    parser.add_argument("--positions", type=int, default=192)
    parser.add_argument("--realtime", action="store_true", help="run with real-time priority (Linux, as root)")
    options = parser.parse_args()
    if options.realtime:
        allow_realtime()
    measured = StepWays(options.bundle, max(options.rows), options.positions)
    print("rows  " + "  ".join(WAYS))
    for rows in options.rows:
        times_s = quartiles_s([measured.work(way, rows) for way in WAYS])
        columns = (f"{taken_s * 1e3:{len(way)}.2f}" for way, taken_s in zip(WAYS, times_s, strict=True))
        print(f"{rows:4d}  " + "  ".join(columns))


class StepWays:
    """One memory, and sessions of the same graph that step on it."""

    def __init__(self, bundle_dir: Path, row_count: int, positions: int) -> None:
        manifest = load_manifest(bundle_dir)
        self._kv = KvMemory(manifest, row_count)
        self._kv.fit(positions, 0)
        self._memory = StepMemory(manifest, row_count)
        self._fill(manifest, positions)
        graph = str(bundle_dir / manifest.step.graph)
        self._single, self._second, self._pool = (_session(graph, threads) for threads in (1, 1, 2))
        self._executor = ThreadPoolExecutor(1)

    def work(self, way: str, rows: int) -> Callable[[], None]:
        """Return a step of this many rows in one of the ways."""
        if way == "one thread" or rows == 1:
            return self._bound(self._pool if way == "pool of two" else self._single, slice(0, rows))
        if way == "pool of two":
            return self._bound(self._pool, slice(0, rows))
        own = self._bound(self._single, slice(0, rows // 2))
        other_session = self._second if way == "two sessions" else self._single
        other = self._bound(other_session, slice(rows // 2, rows))

        def both() -> None:
            future = self._executor.submit(other)
            own()
            wait([future])

        return both

    def _fill(self, manifest: Manifest, positions: int) -> None:
        inputs = self._memory.inputs
        inputs["position"][:] = positions - 1
        inputs["row_ids"][:] = 1
        if "params" in inputs:
            inputs["params"][:] = [param.default for param in manifest.step.params]
        if "prompt_count" in inputs:
            inputs["prompt_count"][:] = positions // 2
        random = np.random.default_rng(0)
        for array in self._kv.arrays.values():
            array[:] = random.standard_normal(array.shape) * 0.1

    def _bound(self, session: ort.InferenceSession, rows: slice) -> BoundRun:
        caches = {name: array[rows] for name, array in self._kv.arrays.items()}
        inputs = {name: array[rows] for name, array in self._memory.inputs.items()}
        outputs = {name: array[rows] for name, array in self._memory.outputs.items()}
        return BoundRun(session, inputs | caches, outputs | {f"{name}_out": array for name, array in caches.items()})


def _session(graph: str, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    main()
