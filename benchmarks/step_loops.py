"""What a busy interpreter costs a step: the Python loop beside the native one, both on a made-up GPU.

    pip install ./trt_engines/native
    python -m benchmarks.step_loops

The GPU is the tests' libcuda, whose graphs sleep for `--step-us`; compiled here with g++. While one thread asks for
frame after frame, as the model thread does, others do Python work as gRPC streams would: a little at a time, together
more than one interpreter can do. Times are of one frame for all rows, as the asking thread sees them.
"""

import argparse
import ctypes
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.tensorrt.block_layout import BlockField, BlockLayout
from trt_engines.tensorrt.native_step_loop import NativeStepLoop, native_module
from trt_engines.tensorrt.step_loop import PythonStepLoop, StepLoop
from trt_engines.tensorrt.talker_memory import RowTensor

ROOT = Path(__file__).parents[1]
WORK_S = 0.0002
PERIOD_S = 0.01
TENSORS = {
    "active": RowTensor("bool", ()),
    "params": RowTensor("float32", (1,)),
    "random": RowTensor("float32", (2,)),
    "frame": RowTensor("float32", (2,)),
    "emit": RowTensor("bool", ()),
    "done": RowTensor("bool", ()),
    "finite": RowTensor("bool", ()),
    "row_ids_out": RowTensor("int32", (1,)),
}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--step-us", type=int, default=1000, help="how long the GPU takes for a step")
    parser.add_argument("--threads", type=int, default=64, help="threads that do Python work beside")
    options = parser.parse_args()
    native = native_module()
    if native is None:
        sys.exit("The native loop is not installed: pip install ./trt_engines/native")
    print(f"{options.rows} rows, {options.step_us} us a step on the GPU, {options.threads} busy threads")
    with tempfile.TemporaryDirectory() as folder:
        library = _compiled_double(Path(folder))
        loops = (("Python loop", None, 1), ("native loop, 3 ahead", native, 3), ("native loop, 8 ahead", native, 8))
        for name, kind, depth in loops:
            for thread_count in (0, options.threads):
                bench = _Bench(library, options.rows, options.step_us)
                loop = bench.loop(kind, depth)
                with _busy_threads(thread_count):
                    times_ms = 1e3 * _frame_times_s(loop, options.rows, options.steps)
                loop.close()
                mean, middle, high = times_ms.mean(), *np.percentile(times_ms, [50, 99])
                print(
                    f"{name}, {thread_count:3} busy threads: mean {mean:6.2f}, median {middle:6.2f}, p99 {high:6.2f} ms"
                )


def _compiled_double(folder: Path) -> Path:
    source = ROOT / "tests" / "trt_engines" / "native" / "libcuda_double.cpp"
    target = folder / "libcuda_double.so"
    subprocess.run(["g++", "-std=c++20", "-O2", "-shared", "-fPIC", source, "-o", target, "-lpthread"], check=True)
    return target


def _frame_times_s(loop: StepLoop, row_count: int, step_count: int) -> NDArray[np.float64]:
    rows = range(row_count)
    for row in rows:
        loop.begin(row, row, (1e9,), 0, step_count)
    times = []
    for _ in range(step_count):
        start = time.perf_counter()
        loop.advance(rows)
        times.append(time.perf_counter() - start)
    return np.asarray(times)


@contextmanager
def _busy_threads(count: int) -> Iterator[None]:
    """Keep the interpreter busy."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            end = time.thread_time() + WORK_S
            while time.thread_time() < end:
                sum(range(100))
            time.sleep(PERIOD_S)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


class _Bench:
    """The made-up GPU with its blocks, as a driver, a runner and a memory: just what a loop calls."""

    def __init__(self, library: Path, row_count: int, step_us: int) -> None:
        self._path = library
        self._cuda = ctypes.CDLL(str(library))
        self._cuda.double_graph.restype = ctypes.c_void_p
        fields = {name: BlockField(tensor.dtype, (row_count, *tensor.shape)) for name, tensor in TENSORS.items()}
        uploaded = BlockLayout({name: fields[name] for name in ("active", "params", "random")})
        downloaded = BlockLayout({name: fields[name] for name in list(TENSORS)[3:]})
        self._device = [np.zeros(layout.byte_count, np.uint8) for layout in (uploaded, downloaded)]
        offsets = [uploaded.offsets["params"], 1, uploaded.offsets["random"], 2]
        offsets += [downloaded.offsets[name] for name in list(TENSORS)[3:]]
        pointers = [ctypes.c_void_p(block.ctypes.data) for block in self._device]
        self._cuda.double_describe(*pointers, (ctypes.c_size_t * len(offsets))(*offsets), ctypes.c_size_t(row_count))
        self._graph = self._cuda.double_graph(ctypes.c_size_t(row_count), ctypes.c_uint(step_us))
        self._graphs = {row_count: self._graph}
        self._tensors: Any = SimpleNamespace(
            tensors=TENSORS, uploaded=uploaded, downloaded=downloaded, row_count=row_count,
            uploaded_address=self._device[0].ctypes.data, downloaded_address=self._device[1].ctypes.data,
        )  # fmt: skip
        self.driver = self

    def loop(self, native: object | None, depth_frames: int) -> StepLoop:
        """Return the native loop, or the Python loop if there is no module."""
        memory: Any = self
        if native is not None:
            return NativeStepLoop(native, memory, self._graphs, self._tensors, 1, str(self._path), depth_frames)
        runner: Any = SimpleNamespace(put=self._launch)
        return PythonStepLoop(memory, runner, self._tensors, 1)

    def pinned(self, byte_count: int) -> NDArray[np.uint8]:
        """Return host memory."""
        return np.zeros(byte_count, np.uint8)

    def event(self) -> int:
        """Return a new event."""
        event = ctypes.c_void_p()
        self._cuda.cuEventCreate(ctypes.byref(event), 0)
        return event.value or 0

    def upload(self, address: int, source: NDArray[Any], stream: int) -> None:
        """Put a copy to the device on the stream."""
        target, size = ctypes.c_uint64(address), ctypes.c_size_t(source.nbytes)
        self._cuda.cuMemcpyHtoDAsync_v2(target, ctypes.c_void_p(source.ctypes.data), size, ctypes.c_void_p(stream))

    def download(self, target: NDArray[Any], address: int, stream: int) -> None:
        """Put a copy to the host on the stream."""
        place, size = ctypes.c_void_p(target.ctypes.data), ctypes.c_size_t(target.nbytes)
        self._cuda.cuMemcpyDtoHAsync_v2(place, ctypes.c_uint64(address), size, ctypes.c_void_p(stream))

    def record(self, event: int, stream: int) -> None:
        """Mark the stream."""
        self._cuda.cuEventRecord(ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def wait(self, event: int) -> None:
        """Wait for the mark."""
        self._cuda.cuEventSynchronize(ctypes.c_void_p(event))

    def synchronize(self, stream: int) -> None:
        """Wait for the stream."""
        self._cuda.cuStreamSynchronize(ctypes.c_void_p(stream))

    def _launch(self, _row_count: int) -> None:
        self._cuda.cuGraphLaunch(ctypes.c_void_p(self._graph), ctypes.c_void_p(1))


if __name__ == "__main__":
    main()
