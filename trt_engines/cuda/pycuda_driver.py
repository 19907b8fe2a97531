"""CUDA through `pycuda`, with graphs added from the driver's own library since pycuda has none."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.cuda.driver import Gpu, HostArray
from trt_engines.cuda.errors import CudaError, CudaOutOfMemoryError, CudaUnavailableError
from trt_engines.cuda.graph_library import GraphLibrary


class PycudaDriver:
    """Implements `CudaDriver` on the primary context, the one TensorRT uses. pycuda knows no stream priorities.

    Raises:
        ImportError: pycuda is not installed, or was built for a driver that is not there.
        CudaUnavailableError: no driver, or no GPU with that index.
    """

    name = "pycuda"

    def __init__(self, device_index: int = 0) -> None:
        self._cuda: Any = importlib.import_module("pycuda.driver")
        self._graphs = GraphLibrary()
        try:
            self._cuda.init()
            device_count = self._cuda.Device.count()
        except self._cuda.Error as error:
            raise CudaUnavailableError(f"CUDA cannot be used: {error}. Install an NVIDIA driver.") from error
        if device_index >= device_count:
            raise CudaUnavailableError(
                f"GPU {device_index} was asked for but this machine shows {device_count}; indices start at 0 "
                "and CUDA_VISIBLE_DEVICES hides the others."
            )
        self._device = self._cuda.Device(device_index)
        self._context = self._device.retain_primary_context()
        self._allocations: dict[int, Any] = {}
        self._streams: dict[int, Any] = {}
        self._events: dict[int, Any] = {}
        self._event_handles = count(1)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """See `CudaDriver`; pycuda ends the process if a thread ends with a context on its stack."""
        self._context.push()
        try:
            yield
        finally:
            self._cuda.Context.pop()

    def gpu(self) -> Gpu:
        """See `CudaDriver`."""
        major, minor = self._device.compute_capability()
        return Gpu(self._device.name(), (major, minor), self._device.total_memory(), self._device.pci_bus_id())

    def free_bytes(self) -> int:
        """See `CudaDriver`."""
        return int(self._cuda.mem_get_info()[0])

    def allocate(self, byte_count: int) -> int:
        """See `CudaDriver`."""
        try:
            allocation = self._cuda.mem_alloc(byte_count)
        except self._cuda.MemoryError as error:
            raise CudaOutOfMemoryError(f"mem_alloc found no memory: {error}.") from error
        self._allocations[int(allocation)] = allocation
        return int(allocation)

    def free(self, address: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._allocations.pop(address).free)

    def allocate_pinned(self, byte_count: int) -> NDArray[np.uint8]:
        """See `CudaDriver`."""
        try:
            array: NDArray[np.uint8] = self._cuda.pagelocked_empty(byte_count, np.uint8)
        except self._cuda.MemoryError as error:
            raise CudaOutOfMemoryError(f"pagelocked_empty found no memory: {error}.") from error
        return array

    def free_pinned(self, array: NDArray[np.uint8]) -> None:
        """See `CudaDriver`."""
        allocation: Any = array.base  # pycuda's PagelockedHostAllocation
        self._checked(allocation.free)

    def create_stream(self, *, is_urgent: bool) -> int:
        """See `CudaDriver`."""
        del is_urgent  # pycuda's streams have no priority
        stream = self._cuda.Stream(1)  # CU_STREAM_NON_BLOCKING
        self._streams[stream.handle] = stream
        return int(stream.handle)

    def destroy_stream(self, stream: int) -> None:
        """See `CudaDriver`."""
        del self._streams[stream]

    def create_event(self) -> int:
        """See `CudaDriver`."""
        flags = self._cuda.event_flags
        handle = next(self._event_handles)  # pycuda keeps the driver's own handle to itself
        self._events[handle] = self._cuda.Event(flags.DISABLE_TIMING | flags.BLOCKING_SYNC)
        return handle

    def destroy_event(self, event: int) -> None:
        """See `CudaDriver`."""
        del self._events[event]

    def record(self, event: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._events[event].record, self._streams[stream])

    def wait(self, event: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._events[event].synchronize)

    def synchronize(self, stream: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._streams[stream].synchronize)

    def _checked(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            call(*arguments)
        except self._cuda.Error as error:
            raise CudaError(f"{call.__name__} failed: {error}.") from error

    def upload(self, address: int, source: HostArray, stream: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._cuda.memcpy_htod_async, address, source, self._streams[stream])

    def download(self, target: HostArray, address: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._cuda.memcpy_dtoh_async, target, address, self._streams[stream])

    def copy(self, target: int, source: int, byte_count: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._cuda.memcpy_dtod_async, target, source, byte_count, self._streams[stream])

    def clear(self, address: int, byte_count: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._checked(self._cuda.memset_d8_async, address, 0, byte_count, self._streams[stream])

    def begin_capture(self, stream: int) -> None:
        """See `CudaDriver`."""
        self._graphs.begin_capture(stream)

    def end_capture(self, stream: int) -> int:
        """See `CudaDriver`."""
        return self._graphs.end_capture(stream)

    def abandon_capture(self, stream: int) -> None:
        """See `CudaDriver`."""
        self._graphs.abandon_capture(stream)

    def launch(self, graph: int, stream: int) -> None:
        """See `CudaDriver`."""
        self._graphs.launch(graph, stream)

    def destroy_graph(self, graph: int) -> None:
        """See `CudaDriver`."""
        self._graphs.destroy(graph)
