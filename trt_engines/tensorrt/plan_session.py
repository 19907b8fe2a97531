"""What the runtime asks of a plan that is loaded on the GPU, whatever speaks to TensorRT for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from trt_engines.errors import BackendError
from trt_engines.tensorrt.device_memory import DeviceMemory

Shapes = Mapping[str, tuple[int, ...]]
Addresses = Mapping[str, int]


@dataclass(frozen=True)
class DeviceCopy:
    """A copy inside the device that belongs to a run, behind it."""

    target: int
    source: int
    byte_count: int


class PlanContext(Protocol):
    """An execution context with everything bound. Used from one thread at a time.

    Each call may raise `BackendError` with TensorRT's words, or `CudaOutOfMemoryError`.
    """

    def bind(self, tensor: str, address: int) -> None:
        """Bind one tensor to another address; a graph that was captured before keeps the old one."""
        ...

    def run(self, stream: int) -> None:
        """Put the work on a stream."""
        ...

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Return the shape of an input or output under the shapes that were bound."""
        ...

    def captured(self, memory: DeviceMemory, stream: int, copies: Sequence[DeviceCopy] = ()) -> int | None:
        """Return a graph of a run and the copies behind it, which `memory` gives back; None if it cannot be one.

        The context must have run before with the same shapes: a first run may allocate, which a capture forbids.
        """
        ...

    def close(self) -> None:
        """Give back what TensorRT keeps in it; its work must be done, and its graphs must not be launched again."""
        ...


class PlanSession(Protocol):
    """A deserialized plan; closed after its contexts.

    The GPU must have been opened before (`open_driver`): TensorRT's own runtime ends the process where there is no
    driver.
    """

    def workspace_bytes(self, profile: int) -> int:
        """Scratch memory that a context of this profile needs."""
        ...

    def open_context(
        self, profile: int, shapes: Shapes, addresses: Addresses, workspace: tuple[int, int], stream: int
    ) -> PlanContext:
        """Return a context bound for good.

        Args:
            profile: index of the optimization profile.
            shapes: shape of each input.
            addresses: device address of each input and output.
            workspace: address and size of scratch memory. Contexts may share it only if one thread puts all their work
                on one stream: a run is many kernels, and another thread's may come between them.
            stream: where the switch of profiles is put.

        Raises:
            BackendError: TensorRT refuses a shape or an address.
            CudaOutOfMemoryError: The GPU has no room for what TensorRT keeps in a context.
        """
        ...

    def close(self) -> None:
        """Give the weights back."""
        ...


def check_on_device(plan: str, host_tensors: Sequence[str]) -> None:
    """Refuse a plan with inputs or outputs in host memory, which no address on the GPU can be bound to.

    Raises:
        BackendError: There is one.
    """
    if host_tensors:
        raise BackendError(
            f"{plan} wants {', '.join(host_tensors)} in host memory: the graph computes a shape from it. "
            "Change the graph so that shapes come from shapes alone, and build the plans again."
        )
