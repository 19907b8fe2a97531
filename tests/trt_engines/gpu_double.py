"""A GPU made of host memory that does nothing until it is waited for, so that a missing wait or a wrong order shows."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.cuda.driver import Gpu, HostArray
from trt_engines.cuda.errors import CudaError, CudaOutOfMemoryError

_ALIGNMENT = 256
_GARBAGE = 0x7B  # as float16 and float32 a large number, as int32 far beyond any table


@dataclass
class _Stream:
    is_urgent: bool
    pending: list[Callable[[], None]] = field(default_factory=list)
    captured: list[Callable[[], None]] | None = None


class GpuDouble:
    """A `CudaDriver` whose streams are queues: work runs when the host waits for it, in order, one stream at a time.

    Fresh memory is full of garbage. Addresses outside an allocation, unpinned host arrays, use after free, waiting
    inside a capture and calls from a thread that is not attached raise `AssertionError`.
    """

    name = "double"

    def __init__(self, memory_bytes: int = 1 << 30, compute_capability: tuple[int, int] = (8, 9)) -> None:
        self.memory_bytes = memory_bytes
        self.compute_capability = compute_capability
        self.log: list[tuple[str, int]] = []
        self._allocations: dict[int, NDArray[np.uint8]] = {}
        self._pinned: list[NDArray[np.uint8]] = []
        self._streams: dict[int, _Stream] = {}
        self._events: dict[int, tuple[int, int] | None] = {}
        self._done_counts: dict[int, int] = {}
        self._graphs: dict[int, list[Callable[[], None]]] = {}
        self._handles = count(1)
        self._next_address = 0x7F00_0000_0000
        self._attached = threading.local()

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Note that this thread may call."""
        self._attached.depth = getattr(self._attached, "depth", 0) + 1
        try:
            yield
        finally:
            self._attached.depth -= 1

    def _assert_attached(self) -> None:
        assert getattr(self._attached, "depth", 0) > 0, "a CUDA call from a thread that is not attached"

    def gpu(self) -> Gpu:
        """Describe the double."""
        return Gpu("Double", self.compute_capability, self.memory_bytes, "00000000:01:00.0")

    def free_bytes(self) -> int:
        """Return what is left of `memory_bytes`."""
        self._assert_attached()
        return self.memory_bytes - self.used_bytes

    @property
    def used_bytes(self) -> int:
        """What is allocated on the device; for tests, on any thread."""
        return sum(block.size for block in self._allocations.values())

    def allocate(self, byte_count: int) -> int:
        """Hand out garbage."""
        self._assert_attached()
        if byte_count > self.free_bytes():
            raise CudaOutOfMemoryError(f"{byte_count} bytes of {self.free_bytes()} free")
        address = self._next_address
        self._next_address += -(-(byte_count + _ALIGNMENT) // _ALIGNMENT) * _ALIGNMENT
        self._allocations[address] = np.full(byte_count, _GARBAGE, np.uint8)
        return address

    def free(self, address: int) -> None:
        """Forget an allocation, which must exist."""
        self._assert_attached()
        del self._allocations[address]

    def view(self, address: int, byte_count: int) -> NDArray[np.uint8]:
        """Return device bytes, which must lie in one allocation."""
        for base, block in self._allocations.items():
            if base <= address and address + byte_count <= base + block.size:
                return block[address - base : address - base + byte_count]
        raise AssertionError(f"bytes [{address:#x}, +{byte_count}) are in no allocation")

    def allocate_pinned(self, byte_count: int) -> NDArray[np.uint8]:
        """Hand out host memory and remember that it is pinned."""
        self._assert_attached()
        array = np.full(byte_count, _GARBAGE, np.uint8)
        self._pinned.append(array)
        return array

    def free_pinned(self, array: NDArray[np.uint8]) -> None:
        """Forget pinned memory, which must be a whole allocation."""
        self._assert_attached()
        kept = [block for block in self._pinned if block is not array]
        assert len(kept) == len(self._pinned) - 1
        self._pinned = kept

    def create_stream(self, *, is_urgent: bool) -> int:
        """Open a queue."""
        self._assert_attached()
        handle = next(self._handles)
        self._streams[handle] = _Stream(is_urgent)
        self._done_counts[handle] = 0
        return handle

    def destroy_stream(self, stream: int) -> None:
        """Close a queue."""
        self._assert_attached()
        del self._streams[stream]

    def create_event(self) -> int:
        """Make an event that nobody has recorded."""
        self._assert_attached()
        handle = next(self._handles)
        self._events[handle] = None
        return handle

    def destroy_event(self, event: int) -> None:
        """Forget an event."""
        self._assert_attached()
        del self._events[event]

    def record(self, event: int, stream: int) -> None:
        """Remember how much of the queue comes before this point."""
        self._assert_attached()
        self._events[event] = (stream, self._done_counts[stream] + len(self._streams[stream].pending))
        self.log.append(("record", stream))

    def wait(self, event: int) -> None:
        """Run the queue up to where the event was recorded."""
        self._assert_attached()
        recorded = self._events[event]
        if recorded is not None:
            stream, end = recorded
            self._run(stream, end - self._done_counts[stream])
        self.log.append(("wait", event))

    def synchronize(self, stream: int) -> None:
        """Run the whole queue."""
        self._assert_attached()
        self._run(stream, len(self._streams[stream].pending))
        self.log.append(("synchronize", stream))

    def _run(self, stream: int, work_count: int) -> None:
        queue = self._streams[stream]
        assert queue.captured is None, "waiting on a stream that is being captured"
        for _ in range(work_count):
            queue.pending.pop(0)()
            self._done_counts[stream] += 1

    def enqueue(self, verb: str, stream: int, work: Callable[[], None]) -> None:
        """Put work on a stream, or into the graph being captured from it."""
        self._assert_attached()
        queue = self._streams[stream]
        if queue.captured is not None:
            queue.captured.append(work)
        else:
            queue.pending.append(work)
            self.log.append((verb, stream))

    def upload(self, address: int, source: HostArray, stream: int) -> None:
        """Queue a copy to the device; what the host array holds by then is what arrives."""
        self._assert_pinned(source)
        self.enqueue("upload", stream, lambda: _fill(self.view(address, source.nbytes), _bytes(source)))

    def download(self, target: HostArray, address: int, stream: int) -> None:
        """Queue a copy to the host."""
        self._assert_pinned(target)
        self.enqueue("download", stream, lambda: _fill(_bytes(target), self.view(address, target.nbytes)))

    def copy(self, target: int, source: int, byte_count: int, stream: int) -> None:
        """Queue a copy inside the device."""
        self.enqueue("copy", stream, lambda: _fill(self.view(target, byte_count), self.view(source, byte_count)))

    def clear(self, address: int, byte_count: int, stream: int) -> None:
        """Queue zeros."""
        self.enqueue("clear", stream, lambda: self.view(address, byte_count).fill(0))

    def begin_capture(self, stream: int) -> None:
        """Turn the queue's tail into a graph under construction."""
        self._assert_attached()
        queue = self._streams[stream]
        assert queue.captured is None
        queue.captured = []

    def end_capture(self, stream: int) -> int:
        """Return the work captured since `begin_capture`."""
        self._assert_attached()
        queue = self._streams[stream]
        assert queue.captured is not None
        handle = next(self._handles)
        self._graphs[handle], queue.captured = queue.captured, None
        if not self._graphs[handle]:
            raise CudaError("an empty graph was captured")
        return handle

    def abandon_capture(self, stream: int) -> None:
        """Forget the work captured since `begin_capture`."""
        self._streams[stream].captured = None

    def launch(self, graph: int, stream: int) -> None:
        """Queue a graph's work."""
        self._assert_attached()
        work = self._graphs[graph]

        def replay() -> None:
            for item in work:
                item()

        self.enqueue("launch", stream, replay)

    def destroy_graph(self, graph: int) -> None:
        """Forget a graph."""
        self._assert_attached()
        del self._graphs[graph]

    def assert_nothing_is_left(self) -> None:
        """Check that everything was given back."""
        assert not self._allocations
        assert not self._pinned
        assert not self._streams
        assert not self._events
        assert not self._graphs

    def is_capturing(self, stream: int) -> bool:
        """Tell whether a stream is being captured."""
        return self._streams[stream].captured is not None

    def is_urgent(self, stream: int) -> bool:
        """Tell a stream's priority."""
        return self._streams[stream].is_urgent

    def _assert_pinned(self, array: HostArray) -> None:
        assert array.flags.c_contiguous
        assert any(np.shares_memory(array, block) for block in self._pinned), "host array is not pinned"


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def _fill(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
    target[:] = source
