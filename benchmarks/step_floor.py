"""Step time of a bundle at 1 to 32 rows, beside the floor: what this machine needs to read the weights and multiply.

    python -m benchmarks.step_floor voices/default
    sudo python -m benchmarks.step_floor voices/default --realtime    # on a busy machine: in short real-time bursts

The floor of a step is the longer of two times: reading every weight of the step graph once at the rate of a dot
product over as many bytes, and doing its multiplications at the rate of a large matrix product (both by numpy on all
cores, measured in the same minute). Figures are lower quartiles over rounds in which everything takes its turn.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from benchmarks.quartiles import allow_realtime, quartiles_s
from trt_engines.base import Engine, PrefillChunk, StepFrame, StepRequest
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine

GEMM_SIZE = 768


@dataclass(frozen=True)
class StepCost:
    """What a step has to do: bytes of weights once per step, multiplications per row, and more per row and position."""

    weight_bytes: int
    macs_per_row: int
    macs_per_position: int

    def floor_s(self, rows: int, positions: int, bytes_per_s: float, macs_per_s: float) -> float:
        """Return the shortest time that a step of this many rows can take."""
        macs = rows * (self.macs_per_row + positions * self.macs_per_position)
        return max(self.weight_bytes / bytes_per_s, macs / macs_per_s)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--positions", type=int, default=160, help="positions of each row when measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--realtime", action="store_true", help="run with real-time priority (Linux, as root)")
    options = parser.parse_args()
    if options.realtime:
        allow_realtime()
    engine = load_engine(options.bundle, EngineOptions(max(options.rows), options.threads))
    report(engine, step_cost(options.bundle, engine), options.rows, options.positions)
    engine.close()


def report(engine: Engine, cost: StepCost, row_counts: list[int], positions: int) -> None:
    """Print one line per number of rows."""
    steps = StepTimer(engine, positions)
    read_s, multiply_s = quartiles_s([dot_product(cost.weight_bytes), matrix_product()])
    bytes_per_s, macs_per_s = cost.weight_bytes / read_s, GEMM_SIZE**3 / multiply_s
    times_s = quartiles_s([steps.work(rows) for rows in row_counts], steps.make_room)
    kind = f"{cost.weight_bytes / 1e6:.1f} MB of weights, {cost.macs_per_row / 1e6:.1f} M multiplications a row"
    print(f"{engine.manifest.id} ({engine.manifest.precision}): {kind}")
    print(f"this machine: {bytes_per_s / 1e9:.0f} GB/s over them, {2 * macs_per_s / 1e9:.0f} GFLOP/s")
    print("rows  step ms  floor ms  ratio  ms a row")
    for rows, step_s in zip(row_counts, times_s, strict=True):
        floor_s = cost.floor_s(rows, positions, bytes_per_s, macs_per_s)
        print(f"{rows:4d} {step_s * 1e3:8.2f} {floor_s * 1e3:9.2f} {step_s / floor_s:6.1f} {step_s / rows * 1e3:9.2f}")


class StepTimer:
    """Keeps slots at about the same position and steps some of them."""

    def __init__(self, engine: Engine, positions: int) -> None:
        self._engine = engine
        self._positions = positions
        self._params = tuple(param.default for param in engine.manifest.step.params)
        self._steps = 0
        self.make_room()

    def make_room(self) -> None:
        """Start all slots anew, so that they stay about where they are to be measured."""
        columns, chunk_rows = len(self._engine.manifest.row.columns), self._engine.manifest.prefill.chunk_rows
        row_ids = np.ones((self._positions, columns), np.int32)
        for start in range(0, self._positions, chunk_rows):
            part = row_ids[start : start + chunk_rows]
            is_last = start + chunk_rows >= self._positions
            slots = range(self._engine.talker.slot_count)
            self._engine.talker.prefill([PrefillChunk(slot, part, start, is_last) for slot in slots])

    def work(self, rows: int) -> Callable[[], None]:
        """Return a step of this many rows."""

        def step() -> None:
            self._steps += 1
            requests = [StepRequest(slot, self._params, slot, self._steps) for slot in range(rows)]
            assert all(isinstance(frame, StepFrame) for frame in self._engine.talker.step(requests))

        return step


def dot_product(byte_count: int) -> Callable[[], object]:
    """Return a read of this many bytes."""
    values = np.ones(byte_count // 4, np.float32)
    return lambda: np.dot(values, values)


def matrix_product() -> Callable[[], object]:
    """Return a product of two large matrices."""
    left, right = np.ones((2, GEMM_SIZE, GEMM_SIZE), np.float32)
    return lambda: left @ right


def step_cost(bundle_dir: Path, engine: Engine) -> StepCost:
    """Count what the step graph of a bundle has to do."""
    graph = onnx.load(bundle_dir / engine.manifest.step.graph).graph
    sizes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    folded = {node.output[0]: node.input[0] for node in graph.node if node.op_type in ("Cast", "Transpose")}
    macs, matrices = 0, dict[str, int]()
    for node in graph.node:
        names = [folded.get(folded.get(name, name), folded.get(name, name)) for name in node.input]
        if node.op_type == "MatMul" and names[1] in sizes:
            macs += int(np.prod(sizes[names[1]]))
            matrices[names[1]] = 4 * int(np.prod(sizes[names[1]]))
        elif node.op_type == "MatMulNBits":
            shape = {attribute.name: attribute.i for attribute in node.attribute}
            macs += shape["K"] * shape["N"]
            matrices[names[1]] = shape["K"] * shape["N"]
    kv = engine.manifest.kv
    return StepCost(sum(matrices.values()), macs, 2 * 2 * kv.layers * kv.heads * kv.head_dim)


if __name__ == "__main__":
    main()
