"""pycuda: what is asked of it, and what the driver's library adds."""

import ctypes
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trt_engines.cuda import pycuda_driver
from trt_engines.cuda.driver import Gpu
from trt_engines.cuda.errors import CudaError, CudaOutOfMemoryError, CudaUnavailableError
from trt_engines.cuda.graph_library import GraphLibrary
from trt_engines.cuda.pycuda_driver import PycudaDriver


class _PycudaError(Exception):
    """pycuda.driver.Error."""


class _PycudaMemoryError(_PycudaError):
    """pycuda.driver.MemoryError."""


class _Stream:
    handle = 70

    def __init__(self, flags: int) -> None:
        self.flags = flags

    def synchronize(self) -> None:
        raise _PycudaError("launch failed")


class PycudaDouble(ModuleType):
    """The part of `pycuda.driver` in use; records copies."""

    Error = _PycudaError
    MemoryError = _PycudaMemoryError
    Stream = _Stream
    event_flags = SimpleNamespace(DISABLE_TIMING=2, BLOCKING_SYNC=1)

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.calls: list[tuple[Any, ...]] = []
        device = SimpleNamespace(
            compute_capability=lambda: (9, 0),
            name=lambda: "H200",
            total_memory=lambda: 1 << 37,
            pci_bus_id=lambda: "00000000:65:00.0",
            retain_primary_context=lambda: SimpleNamespace(push=lambda: self.calls.append(("push",))),
        )
        self.Device = type("Device", (), {"__new__": lambda _cls, _index: device, "count": staticmethod(lambda: 1)})
        self.Context = SimpleNamespace(pop=lambda: self.calls.append(("pop",)))

    def init(self) -> None:
        """Start the driver."""

    def mem_get_info(self) -> tuple[int, int]:
        """Free and total bytes."""
        return 5, 9

    def mem_alloc(self, _byte_count: int) -> int:
        """Refuse."""
        raise _PycudaMemoryError("out of memory")

    def memcpy_htod_async(self, *arguments: Any) -> None:
        """Record."""
        self.calls.append(("htod", *arguments))

    def memcpy_dtod_async(self, *arguments: Any) -> None:
        """Record."""
        self.calls.append(("dtod", *arguments))


@pytest.fixture
def pycuda(monkeypatch: pytest.MonkeyPatch) -> PycudaDouble:
    """The double in the place of pycuda, and no driver library."""
    double = PycudaDouble()
    monkeypatch.setitem(sys.modules, "pycuda", ModuleType("pycuda"))
    monkeypatch.setitem(sys.modules, "pycuda.driver", double)
    monkeypatch.setattr(pycuda_driver, "GraphLibrary", SimpleNamespace)
    return double


def test_the_primary_context_is_made_current_and_left_again(pycuda: PycudaDouble) -> None:
    """TensorRT uses the primary context, so pycuda does too; a thread that ended with it would end the process."""
    driver = PycudaDriver()
    with pytest.raises(CudaOutOfMemoryError), driver.attached(), driver.attached():
        driver.allocate(1)
    assert pycuda.calls == [("push",), ("push",), ("pop",), ("pop",)]
    assert driver.gpu() == Gpu("H200", (9, 0), 1 << 37, "00000000:65:00.0")


def test_copies_go_to_the_stream_they_name(pycuda: PycudaDouble) -> None:
    """A handle stands for pycuda's own stream object."""
    driver = PycudaDriver()
    stream = driver.create_stream(is_urgent=True)
    host = np.zeros(2, np.int32)
    driver.upload(1000, host, stream)
    driver.copy(1, 2, 3, stream)
    (_, address, source, used), (_, target, origin, byte_count, _) = pycuda.calls[-2:]
    assert (address, used.handle, used.flags) == (1000, 70, 1)
    assert source is host
    assert (target, origin, byte_count) == (1, 2, 3)


def test_errors_of_pycuda_become_ours(pycuda: PycudaDouble) -> None:
    """No memory and a failed launch are told apart."""
    driver = PycudaDriver()
    with pytest.raises(CudaOutOfMemoryError, match="out of memory"):
        driver.allocate(1)
    with pytest.raises(CudaError, match="synchronize failed: launch failed"):
        driver.synchronize(driver.create_stream(is_urgent=False))
    assert pycuda.calls == []


def test_without_the_drivers_library_the_error_says_so() -> None:
    """A library that cannot be opened is a missing driver."""
    with pytest.raises(CudaUnavailableError, match="Install an NVIDIA driver"):
        GraphLibrary("libcuda-that-is-not-there.so.1")


def test_graph_calls_pass_handles_unchanged() -> None:
    """Capture, instantiate and launch hand the driver the very numbers that they were given."""
    calls: list[tuple[Any, ...]] = []

    class _Library:
        def __getattr__(self, name: str) -> Any:
            def call(*arguments: Any) -> int:
                values = [argument.value if hasattr(argument, "value") else "out" for argument in arguments]
                calls.append((name, *values))
                if name == "cuGraphInstantiateWithFlags":
                    ctypes.cast(arguments[0], ctypes.POINTER(ctypes.c_void_p))[0] = 99
                return 0

            return call

    library = GraphLibrary.__new__(GraphLibrary)
    library._library = _Library()  # type: ignore[assignment] # a stand-in for the CDLL
    library.begin_capture(7)
    graph = library.end_capture(7)
    library.launch(graph, 7)
    assert graph == 99
    assert calls[0] == ("cuStreamBeginCapture_v2", 7, 1)
    assert calls[-1] == ("cuGraphLaunch", 99, 7)
    library.abandon_capture(7)
    assert calls[-1][:2] == ("cuStreamEndCapture", 7)
