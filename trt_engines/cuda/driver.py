"""What the engines need from CUDA, and no more: memory, copies, streams, events and captured graphs."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

HostArray = NDArray[Any]


@dataclass(frozen=True)
class Gpu:
    """The GPU in use.

    Attributes:
        name: as the driver spells it.
        compute_capability: major and minor, (8, 9) for Ada.
        total_bytes: its memory.
        pci_bus_id: where it sits, `00000000:65:00.0`. CUDA's and NVML's indices differ; this does not.
    """

    name: str
    compute_capability: tuple[int, int]
    total_bytes: int
    pci_bus_id: str

    @property
    def architecture(self) -> str:
        """The name used in file names and manifests: `sm89`."""
        major, minor = self.compute_capability
        return f"sm{major}{minor}"


class CudaDriver(Protocol):
    """CUDA for one GPU. Addresses and handles are plain integers.

    Everything but `name`, `gpu` and `attached` is called inside `attached`. Every call may raise `CudaError`. Work on
    one stream runs in order; nothing but `wait` and `synchronize` blocks. Host arrays passed to `upload` and `download`
    must be pinned, contiguous, and left alone until the stream is past them.
    """

    @property
    def name(self) -> str:
        """The package underneath."""
        ...

    def attached(self) -> AbstractContextManager[None]:
        """Make the GPU current on the calling thread, and leave the thread as it was; may be nested."""
        ...

    def gpu(self) -> Gpu:
        """Describe the GPU."""
        ...

    def free_bytes(self) -> int:
        """Return how much of the GPU's memory nobody has taken."""
        ...

    def allocate(self, byte_count: int) -> int:
        """Return the address of new device memory, aligned to 256 bytes; `CudaOutOfMemoryError` if there is no room."""
        ...

    def free(self, address: int) -> None:
        """Give device memory back."""
        ...

    def allocate_pinned(self, byte_count: int) -> NDArray[np.uint8]:
        """Return page-locked host memory, which the GPU reads and writes by itself."""
        ...

    def free_pinned(self, array: NDArray[np.uint8]) -> None:
        """Give pinned memory back; `array` is what `allocate_pinned` returned."""
        ...

    def create_stream(self, *, is_urgent: bool) -> int:
        """Return a new stream that never waits for the default one; an urgent one goes first where CUDA can do that."""
        ...

    def destroy_stream(self, stream: int) -> None:
        """Give a stream back."""
        ...

    def create_event(self) -> int:
        """Return a new event that takes no timestamps."""
        ...

    def destroy_event(self, event: int) -> None:
        """Give an event back."""
        ...

    def record(self, event: int, stream: int) -> None:
        """Mark this point of the stream."""
        ...

    def wait(self, event: int) -> None:
        """Block until the GPU is past the last `record`, without holding the interpreter lock."""
        ...

    def synchronize(self, stream: int) -> None:
        """Block until the stream is empty."""
        ...

    def upload(self, address: int, source: HostArray, stream: int) -> None:
        """Copy pinned host memory to the device."""
        ...

    def download(self, target: HostArray, address: int, stream: int) -> None:
        """Copy device memory to pinned host memory."""
        ...

    def copy(self, target: int, source: int, byte_count: int, stream: int) -> None:
        """Copy inside the device."""
        ...

    def clear(self, address: int, byte_count: int, stream: int) -> None:
        """Write zeros."""
        ...

    def begin_capture(self, stream: int) -> None:
        """From here on, record what is put on the stream instead of running it."""
        ...

    def end_capture(self, stream: int) -> int:
        """Return the recorded work as a graph, ready to launch."""
        ...

    def abandon_capture(self, stream: int) -> None:
        """End a capture whose work has failed, so that the stream can be used again; never raises."""
        ...

    def launch(self, graph: int, stream: int) -> None:
        """Put a captured graph on the stream."""
        ...

    def destroy_graph(self, graph: int) -> None:
        """Give a graph back."""
        ...
