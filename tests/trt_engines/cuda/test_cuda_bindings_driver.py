"""cuda-bindings: what is asked of it, and how its answers become ours."""

import ctypes
import re
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trt_engines.cuda import cuda_bindings_driver
from trt_engines.cuda.cuda_bindings_driver import CudaBindingsDriver
from trt_engines.cuda.driver import Gpu
from trt_engines.cuda.errors import CudaError, CudaOutOfMemoryError, CudaUnavailableError


class _Status(Enum):
    cudaSuccess = 0  # noqa: N815 # CUDA's spelling
    cudaErrorMemoryAllocation = 2  # noqa: N815
    cudaErrorInsufficientDriver = 35  # noqa: N815
    cudaErrorLaunchFailure = 719  # noqa: N815


class _Named:
    """Hands out the name of whatever is asked for, as an enumeration's member would be told apart."""

    def __getattr__(self, name: str) -> str:
        return name


class RuntimeDouble(ModuleType):
    """`cuda.bindings.runtime` with scripted answers; records every call."""

    cudaError_t = _Status  # noqa: N815
    cudaMemcpyKind = _Named()  # noqa: N815
    cudaStreamCaptureMode = _Named()  # noqa: N815
    cudaStreamNonBlocking = 1  # noqa: N815
    cudaEventDisableTiming = 2  # noqa: N815
    cudaEventBlockingSync = 1  # noqa: N815

    def __init__(self) -> None:
        super().__init__("cuda.bindings.runtime")
        self.calls: list[tuple[Any, ...]] = []
        self.answers: dict[str, tuple[Any, ...]] = {
            "cudaGetDeviceCount": (_Status.cudaSuccess, 1),
            "cudaDeviceGetStreamPriorityRange": (_Status.cudaSuccess, 0, -5),
        }

    def __getattr__(self, name: str) -> Callable[..., tuple[Any, ...]]:
        if not name.startswith("cuda"):
            raise AttributeError(name)

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            return self.answers.get(name, (_Status.cudaSuccess,))

        return call


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> RuntimeDouble:
    """The double in the place of the real module."""
    double = RuntimeDouble()
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", double)
    return double


def test_an_old_driver_is_named(runtime: RuntimeDouble) -> None:
    """Without a usable driver the error says so and nothing else is called."""
    runtime.answers["cudaGetDeviceCount"] = (_Status.cudaErrorInsufficientDriver, None)
    with pytest.raises(CudaUnavailableError, match=r"cudaErrorInsufficientDriver.*packages for CUDA 12"):
        CudaBindingsDriver()
    assert [("cudaGetDeviceCount",)] == runtime.calls


def test_a_gpu_that_is_not_there_is_refused(runtime: RuntimeDouble) -> None:
    """Asking for GPU 1 of 1 names both numbers."""
    with pytest.raises(CudaUnavailableError, match="GPU 1 was asked for but this machine shows 1"):
        CudaBindingsDriver(1)
    assert ("cudaSetDevice", 1) not in runtime.calls


def test_the_gpu_is_described(runtime: RuntimeDouble) -> None:
    """Name and bus id lose the filling behind them."""
    found = SimpleNamespace(name=b"NVIDIA H200\0\0", major=9, minor=0, totalGlobalMem=1 << 37)
    runtime.answers["cudaGetDeviceProperties"] = (_Status.cudaSuccess, found)
    runtime.answers["cudaDeviceGetPCIBusId"] = (_Status.cudaSuccess, b"0000:65:00.0\0   ")
    gpu = CudaBindingsDriver().gpu()
    assert gpu == Gpu("NVIDIA H200", (9, 0), 1 << 37, "0000:65:00.0")
    assert gpu.architecture == "sm90"


def test_a_full_gpu_and_other_failures_differ(runtime: RuntimeDouble) -> None:
    """No memory is an error of its own, everything else is named by CUDA's word."""
    driver = CudaBindingsDriver()
    runtime.answers["cudaMalloc"] = (_Status.cudaErrorMemoryAllocation, None)
    runtime.answers["cudaEventSynchronize"] = (_Status.cudaErrorLaunchFailure,)
    with pytest.raises(CudaOutOfMemoryError, match="cudaMalloc found no memory"):
        driver.allocate(1)
    with pytest.raises(CudaError, match="cudaEventSynchronize failed: cudaErrorLaunchFailure"):
        driver.wait(3)


def test_an_urgent_stream_has_the_highest_priority(runtime: RuntimeDouble) -> None:
    """Steps go before the vocoder: the greatest priority against the default one, neither waiting for stream 0."""
    runtime.answers["cudaStreamCreateWithPriority"] = (_Status.cudaSuccess, 77)
    driver = CudaBindingsDriver()
    assert driver.create_stream(is_urgent=True) == 77
    driver.create_stream(is_urgent=False)
    assert [("cudaStreamCreateWithPriority", 1, -5), ("cudaStreamCreateWithPriority", 1, 0)] == runtime.calls[-2:]


def test_copies_name_their_addresses_and_direction(runtime: RuntimeDouble) -> None:
    """Each copy gives target, source, bytes, direction and stream in CUDA's order."""
    driver = CudaBindingsDriver()
    host = np.zeros(3, np.int32)
    driver.upload(1000, host, 7)
    driver.download(host, 1000, 7)
    driver.copy(2000, 1000, 12, 7)
    driver.clear(2000, 12, 7)
    here = host.ctypes.data
    assert runtime.calls[-4:] == [
        ("cudaMemcpyAsync", 1000, here, 12, "cudaMemcpyHostToDevice", 7),
        ("cudaMemcpyAsync", here, 1000, 12, "cudaMemcpyDeviceToHost", 7),
        ("cudaMemcpyAsync", 2000, 1000, 12, "cudaMemcpyDeviceToDevice", 7),
        ("cudaMemsetAsync", 2000, 0, 12, 7),
    ]


def test_a_captured_graph_is_made_executable_and_its_source_given_back(runtime: RuntimeDouble) -> None:
    """Capturing, instantiating and destroying the source happen in that order."""
    runtime.answers["cudaStreamEndCapture"] = (_Status.cudaSuccess, 5)
    runtime.answers["cudaGraphInstantiate"] = (_Status.cudaSuccess, 6)
    driver = CudaBindingsDriver()
    driver.begin_capture(7)
    graph = driver.end_capture(7)
    driver.launch(graph, 7)
    driver.destroy_graph(graph)
    assert runtime.calls[-6:] == [
        ("cudaStreamBeginCapture", 7, "cudaStreamCaptureModeThreadLocal"),
        ("cudaStreamEndCapture", 7),
        ("cudaGraphInstantiate", 5, 0),
        ("cudaGraphDestroy", 5),
        ("cudaGraphLaunch", 6, 7),
        ("cudaGraphExecDestroy", 6),
    ]


def test_a_capture_that_failed_is_ended(runtime: RuntimeDouble) -> None:
    """What was recorded is given back, if CUDA hands it out at all; nothing is raised."""
    driver = CudaBindingsDriver()
    runtime.answers["cudaStreamEndCapture"] = (_Status.cudaErrorLaunchFailure, None)
    driver.abandon_capture(7)
    assert ("cudaStreamEndCapture", 7) == runtime.calls[-1]
    runtime.answers["cudaStreamEndCapture"] = (_Status.cudaSuccess, 5)
    driver.abandon_capture(7)
    assert ("cudaGraphDestroy", 5) == runtime.calls[-1]


def test_pinned_memory_is_a_view_of_what_cuda_gave(runtime: RuntimeDouble) -> None:
    """The array lies at CUDA's own address and is given back by it."""
    block = ctypes.create_string_buffer(b"\1\2\3\4", 4)
    runtime.answers["cudaMallocHost"] = (_Status.cudaSuccess, ctypes.addressof(block))
    driver = CudaBindingsDriver()
    array = driver.allocate_pinned(4)
    assert array.tolist() == [1, 2, 3, 4]
    driver.free_pinned(array)
    assert runtime.calls[-1] == ("cudaFreeHost", ctypes.addressof(block))


def test_every_function_used_exists_in_the_real_package() -> None:
    """Each CUDA name in the source is one of cuda-bindings'."""
    real = pytest.importorskip("cuda.bindings.runtime")
    source = Path(cuda_bindings_driver.__file__).read_text(encoding="utf-8")
    names = set(re.findall(r'_call\(\s*"(cuda\w+)"', source)) | set(re.findall(r"self\._cuda\.(cuda\w+)", source))
    assert len(names) > 20
    assert [] == sorted(name for name in names if not hasattr(real, name))
