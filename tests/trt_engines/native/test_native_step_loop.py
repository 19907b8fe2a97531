"""The native loop from Python: the same frames as the Python loop would make, in batches."""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tests.trt_engines.gpu_double import GpuDouble
from trt_engines.cuda.driver import CudaDriver
from trt_engines.cuda.errors import CudaError
from trt_engines.randomness import uniform
from trt_engines.tensorrt.block_layout import BlockField, BlockLayout
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.native_step_loop import NativeStepLoop
from trt_engines.tensorrt.talker_memory import RowTensor

pytestmark = pytest.mark.timeout(1800)  # a minute to compile on an idle machine, many beside other work

ROWS = 8
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


@pytest.fixture
def loop(antiphon_native: ModuleType, libcuda_double: Path) -> Iterator[NativeStepLoop]:
    """A loop over a device whose steps count, and end at the row's one parameter."""
    double = ctypes.CDLL(str(libcuda_double))
    double.double_graph.restype = ctypes.c_void_p
    fields = {name: BlockField(tensor.dtype, (ROWS, *tensor.shape)) for name, tensor in TENSORS.items()}
    uploaded = BlockLayout({name: fields[name] for name in ("active", "params", "random")})
    downloaded = BlockLayout({name: fields[name] for name in ("frame", "emit", "done", "finite", "row_ids_out")})
    device = [np.zeros(layout.byte_count, np.uint8) for layout in (uploaded, downloaded)]
    offsets = [uploaded.offsets["params"], 1, uploaded.offsets["random"], 2]
    offsets += [downloaded.offsets[name] for name in ("frame", "emit", "done", "finite", "row_ids_out")]
    addresses = [ctypes.c_void_p(block.ctypes.data) for block in device]
    double.double_describe(*addresses, (ctypes.c_size_t * len(offsets))(*offsets), ctypes.c_size_t(ROWS))
    tensors = SimpleNamespace(
        tensors=TENSORS, uploaded=uploaded, downloaded=downloaded, row_count=ROWS,
        uploaded_address=device[0].ctypes.data, downloaded_address=device[1].ctypes.data,
    )  # fmt: skip
    gpu: CudaDriver = GpuDouble()
    graphs = {rows: double.double_graph(ctypes.c_size_t(rows), 100) for rows in (4, ROWS)}
    with gpu.attached():
        made = NativeStepLoop(antiphon_native, DeviceMemory(gpu), graphs, tensors, 1, str(libcuda_double))  # type: ignore[arg-type] # the parts that it uses
    yield made
    made.close()


def test_frames_carry_the_random_numbers_of_their_seed_and_step(loop: NativeStepLoop) -> None:
    """C++ draws the very numbers of `trt_engines.randomness`, negative seeds included."""
    seeds = {0: 7, 5: -3}
    for row, seed in seeds.items():
        loop.begin(row, seed, (100.0,), 11, 50)
    for step in range(20):
        frames = loop.advance([5, 0])
        expected = uniform([-3, 7], [11 + step] * 2, 2)[:, 0]
        assert expected.tolist() == [float(frame.frame[1]) for frame in frames]
        assert [step + 1] * 2 == [int(frame.row_ids[0]) for frame in frames]


def test_flags_come_through(loop: NativeStepLoop) -> None:
    """The last frame is done and not to be vocoded; a row that is asked again goes on."""
    loop.begin(2, 1, (3.0,), 0, 50)
    flags = [(frame.emit, frame.done, frame.finite) for _ in range(4) for frame in loop.advance([2])]
    assert [(True, False, True)] * 2 + [(False, True, True)] * 2 == flags


def test_a_gpu_that_fails_is_our_error(loop: NativeStepLoop, libcuda_double: Path) -> None:
    """What CUDA says on the loop's thread reaches whoever asks for the next frame."""
    ctypes.CDLL(str(libcuda_double)).double_fail_launches_after(0)
    loop.begin(0, 1, (100.0,), 0, 50)
    with pytest.raises(CudaError, match="cuGraphLaunch failed: CUresult 719"):
        loop.advance([0])


def test_a_wrong_number_of_parameters_is_refused(loop: NativeStepLoop) -> None:
    """C++ checks what it is given."""
    with pytest.raises(ValueError, match="as many parameters as the voice has"):
        loop.begin(0, 1, (1.0, 2.0), 0, 5)


def test_a_missing_driver_is_a_sentence(antiphon_native: ModuleType) -> None:
    """Opening a library that is not there says what to install."""
    with pytest.raises(RuntimeError, match="Install an NVIDIA driver"):
        antiphon_native.StepLoop(
            library="libcuda-that-is-not-there.so.1", layout=antiphon_native.StepLayout(), depth=1, stream=0, upload=0,
            download=0, uploads=(0, 0), downloads=(0, 0), graphs=[(1, 1)],
        )  # fmt: skip
