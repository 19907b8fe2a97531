"""Step time of a bundle at 1 to 32 rows, beside the floor: what this machine needs to read and to multiply, at least.

    OMP_NUM_THREADS=1 python -m benchmarks.step_floor voices/default
    sudo OMP_NUM_THREADS=1 python -m benchmarks.step_floor voices/default --realtime  # on a busy machine: in bursts

The floor of a step is the longer of two times, for the two can go on at once:

read      every weight of the step graph once, and of the caches what the rows have written, at the rate at which numpy
          adds up as many bytes of a dot product, all threads reading a part. More bytes lie in a farther cache.
multiply  the step's matrix products, one by one, in the shapes that they have, a thread's share of the rows, by the
          kernels of ONNX Runtime itself on weights that lie in the nearest cache. Attention's are not counted.

So reading is counted too low (the depth transformer's weights are used once for each codebook and may have to come
from afar every time), and nothing stands for the small operations in between. What a better kernel than ONNX Runtime's
could do is not known here. Figures are lower quartiles over rounds in which everything takes its turn.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.quartiles import allow_realtime, quartiles_s
from benchmarks.step_cost import StepCost, step_cost
from trt_engines.base import Engine, PrefillChunk, StepFrame, StepRequest
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--positions", type=int, default=160, help="positions of the longest row when measured")
    parser.add_argument("--ragged", action="store_true", help="rows from a quarter of the positions up to all of them")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--realtime", action="store_true", help="run with real-time priority (Linux, as root)")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.exit("Set OMP_NUM_THREADS=1, or numpy reads with all processors where --threads are meant.")
    if options.realtime:
        allow_realtime()
    engine = load_engine(options.bundle, EngineOptions(max(options.rows), options.threads))
    report(engine, step_cost(options.bundle, engine.manifest), options)
    engine.close()


def report(engine: Engine, cost: StepCost, options: argparse.Namespace) -> None:
    """Print one line per number of rows."""
    kind = f"{cost.weight_bytes / 1e6:.1f} MB of weights, {cost.macs_per_row / 1e6:.1f} M multiplications a row"
    print(f"{engine.manifest.id} ({engine.manifest.precision}), {options.threads} threads: {kind}")
    print("rows  read MB   GB/s  read ms  GFLOP/s  multiply ms  floor ms  step ms  ratio  ms a row")
    for rows in options.rows:
        lengths = row_lengths(rows, options.positions, is_ragged=options.ragged)
        timer, share = StepTimer(engine, lengths), -(-rows // options.threads)
        products = list(cost.products)
        read_bytes = cost.weight_bytes + cost.cache_bytes(sum(lengths))
        works = [timer.work(rows), reading(read_bytes, options.threads), *(one.work(share) for one in products)]
        step_s, read_s, *products_s = quartiles_s(works, timer.make_room)
        multiply_s = cost.multiply_s(dict(zip(products, products_s, strict=True)))
        floor_s = max(read_s, multiply_s)
        print(
            f"{rows:4d} {read_bytes / 1e6:8.1f} {read_bytes / read_s / 1e9:6.1f} {read_s * 1e3:8.2f}"
            f" {2 * share * cost.macs_per_row / multiply_s / 1e9:8.0f} {multiply_s * 1e3:12.2f} {floor_s * 1e3:9.2f}"
            f" {step_s * 1e3:8.2f} {step_s / floor_s:6.1f} {step_s / rows * 1e3:9.2f}",
            flush=True,
        )


def row_lengths(rows: int, positions: int, *, is_ragged: bool) -> list[int]:
    """Return the positions of each row when measured."""
    first = positions // 4 if is_ragged and rows > 1 else positions
    return [int(length) for length in np.linspace(first, positions, rows)]


def reading(byte_count: int, threads: int) -> Callable[[], object]:
    """Return a read of this many bytes, a part by each thread."""
    parts = [np.ones(byte_count // (4 * threads), np.float32) for _ in range(threads)]
    executor = ThreadPoolExecutor(threads)
    return lambda: list(executor.map(np.dot, parts, parts))


class StepTimer:
    """Keeps slots at about the same positions and steps some of them."""

    def __init__(self, engine: Engine, lengths: Sequence[int]) -> None:
        """Occupy a slot for each length."""
        self._engine = engine
        self._lengths = lengths
        self._params = tuple(param.default for param in engine.manifest.step.params)
        self._steps = 0
        self.make_room()

    def make_room(self) -> None:
        """Start all slots anew, so that they stay about where they are to be measured."""
        columns, chunk_rows = len(self._engine.manifest.row.columns), self._engine.manifest.prefill.chunk_rows
        for slot in range(self._engine.talker.slot_count):
            self._engine.talker.release(slot)
        for start in range(0, max(self._lengths), chunk_rows):
            chunks = []
            for slot, length in enumerate(self._lengths):
                if start < length:
                    row_ids = np.ones((min(chunk_rows, length - start), columns), np.int32)
                    chunks.append(PrefillChunk(slot, row_ids, start, start + chunk_rows >= length))
            self._engine.talker.prefill(chunks)

    def work(self, rows: int) -> Callable[[], None]:
        """Return a step of this many rows."""

        def step() -> None:
            self._steps += 1
            requests = [StepRequest(slot, self._params, slot, self._steps) for slot in range(rows)]
            assert all(isinstance(frame, StepFrame) for frame in self._engine.talker.step(requests))

        return step


if __name__ == "__main__":
    main()
