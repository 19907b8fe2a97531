"""Plans through the module `antiphon_native`, where that was built with TensorRT: loading and capturing in C++."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trt_engines.cuda.errors import CudaError, CudaOutOfMemoryError
from trt_engines.errors import BackendError
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.plan_session import Addresses, DeviceCopy, Shapes, check_on_device

_LOG = logging.getLogger(__name__)
_WARNING = 2  # of TensorRT's severities; errors are below


class NativePlanSession:
    """A `PlanSession`; see there.

    Args:
        native: The module.
        plan: The file.
        library: Name or path of TensorRT's library; one that the process has open already is that one.
        allows_host_code: Whether the plan may bring code for the host, as one that later versions read does.
        cuda_library: Name or path of the driver's library.

    Raises:
        BackendError: TensorRT refuses the plan, or is of another major version than the module was built for.
        CudaError: There is no driver.
        CudaOutOfMemoryError: Its weights do not fit.
    """

    def __init__(
        self,
        native: Any,  # noqa: ANN401 # a compiled module without types
        plan: Path,
        library: str,
        *,
        allows_host_code: bool = False,
        cuda_library: str = "libcuda.so.1",
    ) -> None:
        self._native = native
        with _in_our_words(native):
            self._session: Any = native.PlanSession(
                cuda_library=cuda_library,
                tensorrt_library=library,
                name=str(plan),
                plan=plan.read_bytes(),
                allows_host_code=allows_host_code,
            )
        names: list[str] = self._session.tensor_names
        check_on_device(str(plan), [name for name in names if not self._session.is_on_device(name)])
        self._names = names
        self._inputs = [name for name in names if self._session.is_input(name)]

    def workspace_bytes(self, profile: int) -> int:
        """See `PlanSession`."""
        return int(self._session.workspace_bytes(profile))

    def open_context(
        self, profile: int, shapes: Shapes, addresses: Addresses, workspace: tuple[int, int], stream: int
    ) -> "NativePlanContext":
        """See `PlanSession`."""
        address, byte_count = workspace
        with _in_our_words(self._native):
            context = self._session.open_context(
                profile=profile,
                shapes={name: list(shapes[name]) for name in self._inputs},
                addresses={name: addresses[name] for name in self._names},
                workspace=address,
                workspace_bytes=byte_count,
                stream=stream,
            )
        return NativePlanContext(self._native, context)

    def close(self) -> None:
        """See `PlanSession`; contexts that are open yet keep what they need."""
        self._session = None


class NativePlanContext:
    """A `PlanContext`; see there."""

    def __init__(self, native: Any, context: Any) -> None:  # noqa: ANN401
        self._native = native
        self._bound = context

    def bind(self, tensor: str, address: int) -> None:
        """See `PlanContext`."""
        with _in_our_words(self._native):
            self._bound.bind(tensor, address)

    def run(self, stream: int) -> None:
        """See `PlanContext`; the interpreter is free meanwhile."""
        with _in_our_words(self._native):
            self._bound.run(stream)

    def shape(self, tensor: str) -> tuple[int, ...]:
        """See `PlanContext`."""
        return tuple(self._bound.shape(tensor))

    def captured(self, memory: DeviceMemory, stream: int, copies: Sequence[DeviceCopy] = ()) -> int | None:
        """See `PlanContext`; nothing of Python runs while it is captured."""
        with _in_our_words(self._native):
            graph = self._bound.capture(stream, [(copy.target, copy.source, copy.byte_count) for copy in copies])
        return memory.own_graph(graph)

    def close(self) -> None:
        """See `PlanContext`."""
        self._bound = None


@contextmanager
def _in_our_words(native: Any) -> Iterator[None]:  # noqa: ANN401
    """Turn the module's errors into ours, and hand TensorRT's warnings to the log."""
    try:
        yield
    except native.TensorrtOutOfMemory as error:
        raise CudaOutOfMemoryError(str(error)) from error
    except native.TensorrtFailure as error:
        raise BackendError(str(error)) from error
    except native.CudaFailure as error:
        raise CudaError(str(error)) from error
    finally:
        for severity, text in native.take_tensorrt_messages():
            _LOG.log(logging.WARNING if severity == _WARNING else logging.ERROR, "%s", text)
