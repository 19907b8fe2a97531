"""Device and pinned memory with one owner, given back together."""

import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trt_engines.cuda.driver import CudaDriver
from trt_engines.cuda.errors import CudaError
from trt_engines.errors import EngineError

_LOG = logging.getLogger(__name__)


class DeviceMemory:
    """Allocates for one engine; `close` gives everything back, in reverse order."""

    def __init__(self, driver: CudaDriver) -> None:
        self.driver = driver
        self._givers: list[Callable[[], None]] = []

    def allocate(self, byte_count: int) -> int:
        """Return the address of new device memory."""
        address = self.driver.allocate(byte_count)
        self._givers.append(lambda: self.driver.free(address))
        return address

    def zeros(self, byte_count: int, stream: int) -> int:
        """Return the address of new device memory that the stream fills with zeros."""
        address = self.allocate(byte_count)
        self.driver.clear(address, byte_count, stream)
        return address

    def pinned(self, byte_count: int) -> NDArray[np.uint8]:
        """Return new pinned host memory."""
        array = self.driver.allocate_pinned(byte_count)
        self._givers.append(lambda: self.driver.free_pinned(array))
        return array

    def stream(self, *, is_urgent: bool) -> int:
        """Return a new stream."""
        stream = self.driver.create_stream(is_urgent=is_urgent)
        self._givers.append(lambda: self.driver.destroy_stream(stream))
        return stream

    def event(self) -> int:
        """Return a new event."""
        event = self.driver.create_event()
        self._givers.append(lambda: self.driver.destroy_event(event))
        return event

    def captured(self, stream: int, work: Callable[[], None]) -> int:
        """Return the graph of what `work` puts on the stream."""
        self.driver.begin_capture(stream)
        try:
            work()
        except EngineError:
            self.driver.abandon_capture(stream)
            raise
        return self.own_graph(self.driver.end_capture(stream))

    def own_graph(self, graph: int) -> int:
        """Take over a graph, and return it."""
        self._givers.append(lambda: self.driver.destroy_graph(graph))
        return graph

    def on_close(self, stop: Callable[[], None]) -> None:
        """Call something before what was allocated so far is given back, such as the end of a thread that uses it."""
        self._givers.append(stop)

    def close(self) -> None:
        """Give everything back. On a GPU that has failed every call fails: that is logged, and the rest goes on."""
        while self._givers:
            try:
                self._givers.pop()()
            except CudaError as error:
                _LOG.warning("Something could not be given back to the GPU: %s", error)
