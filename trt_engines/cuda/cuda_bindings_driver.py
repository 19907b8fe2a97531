"""CUDA through NVIDIA's `cuda-bindings`: a binary wheel that imports without a driver."""

import ctypes
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.cuda.driver import Gpu, HostArray
from trt_engines.cuda.errors import CudaError, CudaOutOfMemoryError, CudaUnavailableError

_BUS_ID_BYTES = 32


class CudaBindingsDriver:
    """Implements `CudaDriver` with the runtime API, which shares its context with TensorRT.

    Raises:
        ImportError: `cuda-bindings` is not installed.
        CudaUnavailableError: no driver, or no GPU with that index.
    """

    name = "cuda-bindings"

    def __init__(self, device_index: int = 0) -> None:
        self._cuda: Any = importlib.import_module("cuda.bindings.runtime")
        self._device_index = device_index
        status, count = self._cuda.cudaGetDeviceCount()
        if status != self._cuda.cudaError_t.cudaSuccess:
            raise CudaUnavailableError(
                f"CUDA cannot be used: {status.name}. Install an NVIDIA driver for CUDA 13, or packages for CUDA 12 "
                "(pip install 'antiphon[tensorrt-cu12]'); start a container with --gpus all."
            )
        if device_index >= count:
            raise CudaUnavailableError(
                f"GPU {device_index} was asked for but this machine shows {count}; indices start at 0 "
                "and CUDA_VISIBLE_DEVICES hides the others."
            )
        self._pinned: dict[int, int] = {}
        with self.attached():
            _, self._urgent_priority = self._call("cudaDeviceGetStreamPriorityRange")

    def _call(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 # what comes back is the function's own
        """Call and check; return nothing, one value, or a tuple of values, as the function does."""
        status, *values = getattr(self._cuda, function)(*arguments)
        errors = self._cuda.cudaError_t
        if status == errors.cudaErrorMemoryAllocation:
            raise CudaOutOfMemoryError(f"{function} found no memory: {status.name}.")
        if status != errors.cudaSuccess:
            raise CudaError(f"{function} failed: {status.name}.")
        return values[0] if len(values) == 1 else tuple(values)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """See `CudaDriver`; which GPU a thread uses is no resource, so nothing is undone."""
        self._call("cudaSetDevice", self._device_index)
        yield

    def gpu(self) -> Gpu:
        """See `CudaDriver`."""
        properties = self._call("cudaGetDeviceProperties", self._device_index)
        name = _text(properties.name)
        bus_id = _text(self._call("cudaDeviceGetPCIBusId", _BUS_ID_BYTES, self._device_index))
        capability = (int(properties.major), int(properties.minor))
        return Gpu(name, capability, int(properties.totalGlobalMem), bus_id)

    def free_bytes(self) -> int:
        """See `CudaDriver`."""
        return int(self._call("cudaMemGetInfo")[0])

    def allocate(self, byte_count: int) -> int:
        """See `CudaDriver`."""
        return int(self._call("cudaMalloc", byte_count))

    def free(self, address: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaFree", address)

    def allocate_pinned(self, byte_count: int) -> NDArray[np.uint8]:
        """See `CudaDriver`."""
        address = int(self._call("cudaMallocHost", byte_count))
        array: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * byte_count).from_address(address))
        self._pinned[array.ctypes.data] = address
        return array

    def free_pinned(self, array: NDArray[np.uint8]) -> None:
        """See `CudaDriver`."""
        self._call("cudaFreeHost", self._pinned.pop(array.ctypes.data))

    def create_stream(self, *, is_urgent: bool) -> int:
        """See `CudaDriver`."""
        priority = self._urgent_priority if is_urgent else 0
        return int(self._call("cudaStreamCreateWithPriority", self._cuda.cudaStreamNonBlocking, priority))

    def destroy_stream(self, stream: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaStreamDestroy", stream)

    def create_event(self) -> int:
        """See `CudaDriver`."""
        flags = self._cuda.cudaEventDisableTiming | self._cuda.cudaEventBlockingSync
        return int(self._call("cudaEventCreateWithFlags", flags))

    def destroy_event(self, event: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaEventDestroy", event)

    def record(self, event: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaEventRecord", event, stream)

    def wait(self, event: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaEventSynchronize", event)

    def synchronize(self, stream: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaStreamSynchronize", stream)

    def upload(self, address: int, source: HostArray, stream: int) -> None:
        """See `CudaDriver`."""
        kind = self._cuda.cudaMemcpyKind.cudaMemcpyHostToDevice
        self._call("cudaMemcpyAsync", address, source.ctypes.data, source.nbytes, kind, stream)

    def download(self, target: HostArray, address: int, stream: int) -> None:
        """See `CudaDriver`."""
        kind = self._cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost
        self._call("cudaMemcpyAsync", target.ctypes.data, address, target.nbytes, kind, stream)

    def copy(self, target: int, source: int, byte_count: int, stream: int) -> None:
        """See `CudaDriver`."""
        kind = self._cuda.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        self._call("cudaMemcpyAsync", target, source, byte_count, kind, stream)

    def clear(self, address: int, byte_count: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaMemsetAsync", address, 0, byte_count, stream)

    def begin_capture(self, stream: int) -> None:
        """See `CudaDriver`."""
        mode = self._cuda.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        self._call("cudaStreamBeginCapture", stream, mode)

    def end_capture(self, stream: int) -> int:
        """See `CudaDriver`."""
        graph = self._call("cudaStreamEndCapture", stream)
        try:
            return int(self._call("cudaGraphInstantiate", graph, 0))
        finally:
            self._call("cudaGraphDestroy", graph)

    def abandon_capture(self, stream: int) -> None:
        """See `CudaDriver`."""
        status, graph = self._cuda.cudaStreamEndCapture(stream)
        if status == self._cuda.cudaError_t.cudaSuccess:
            self._cuda.cudaGraphDestroy(graph)

    def launch(self, graph: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaGraphLaunch", graph, stream)

    def destroy_graph(self, graph: int) -> None:
        """See `CudaDriver`."""
        self._call("cudaGraphExecDestroy", graph)


def _text(returned: bytes | str) -> str:
    """Return what stands before the first zero; behind it the package leaves what was in its buffer."""
    text = returned.decode("ascii", "replace") if isinstance(returned, bytes) else returned
    return text.partition("\0")[0]
