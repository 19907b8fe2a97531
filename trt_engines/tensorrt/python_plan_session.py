"""Plans through TensorRT's Python package: one adapter over `tensorrt` and `tensorrt_rtx`."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trt_engines.cuda.errors import CudaOutOfMemoryError
from trt_engines.errors import BackendError
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.flavor import Flavor
from trt_engines.tensorrt.log import TensorrtLog, tensorrt_log
from trt_engines.tensorrt.plan_session import Addresses, DeviceCopy, Shapes, check_on_device

DRIVER_ADVICE = "update the NVIDIA driver, or install a TensorRT for the CUDA version that it supports"
_SIGNS_OF_FULL_MEMORY = ("OutOfMemory", "out of memory")


class PythonPlanSession:
    """A `PlanSession`; see there.

    Args:
        flavor: The package.
        plan: The file.
        allows_host_code: Whether the plan may bring code for the host, as one that later versions read does.

    Raises:
        BackendError: TensorRT refuses the plan.
        CudaOutOfMemoryError: Its weights do not fit.
    """

    def __init__(self, flavor: Flavor, plan: Path, *, allows_host_code: bool = False) -> None:
        self._flavor = flavor
        self._name = plan.name
        self._log = tensorrt_log(flavor)
        self._runtime = _made_runtime(flavor, self._log)
        self._runtime.engine_host_code_allowed = allows_host_code
        self._engine: Any = self._runtime.deserialize_cuda_engine(plan.read_bytes())
        if self._engine is None:
            raise refusal(self._log, f"{flavor.name} {flavor.version} cannot load {plan}")
        device = flavor.api.TensorLocation.DEVICE
        names = [self._engine.get_tensor_name(index) for index in range(self._engine.num_io_tensors)]
        check_on_device(str(plan), [name for name in names if self._engine.get_tensor_location(name) != device])
        self._inputs = {name: self._engine.get_tensor_mode(name) == flavor.api.TensorIOMode.INPUT for name in names}

    def workspace_bytes(self, profile: int) -> int:
        """See `PlanSession`."""
        return int(self._engine.get_device_memory_size_for_profile_v2(profile))

    def open_context(
        self, profile: int, shapes: Shapes, addresses: Addresses, workspace: tuple[int, int], stream: int
    ) -> "PythonPlanContext":
        """See `PlanSession`."""
        name = f"{self._name}, profile {profile}"
        self._log.errors.clear()
        context = self._engine.create_execution_context(self._context_configuration())
        if context is None:
            raise refusal(self._log, f"{name} cannot be opened")
        bound = PythonPlanContext(context, name, self._log)
        bound.check(context.set_optimization_profile_async(profile, stream), "the profile")
        context.set_device_memory(*workspace)
        for tensor, is_input in self._inputs.items():
            if is_input:
                bound.check(context.set_input_shape(tensor, shapes[tensor]), f"shape {shapes[tensor]} of {tensor}")
            bound.bind(tensor, addresses[tensor])
        missing = context.infer_shapes()
        bound.check(not missing, f"its inputs: {missing} are not set")
        return bound

    def close(self) -> None:
        """See `PlanSession`."""
        self._engine = self._runtime = None

    def _context_configuration(self) -> Any:  # noqa: ANN401 # TensorRT's objects have no types
        """Scratch memory is ours; RTX compiles its kernels now rather than during a later step."""
        api = self._flavor.api
        if self._flavor.name == "tensorrt":
            return api.ExecutionContextAllocationStrategy.USER_MANAGED
        config = self._engine.create_runtime_config()
        config.set_execution_context_allocation_strategy(api.ExecutionContextAllocationStrategy.USER_MANAGED)
        config.cuda_graph_strategy = api.CudaGraphStrategy.DISABLED
        eager = api.DynamicShapesKernelSpecializationStrategy.EAGER
        config.dynamic_shapes_kernel_specialization_strategy = eager
        return config


class PythonPlanContext:
    """A `PlanContext`; see there."""

    def __init__(self, context: Any, name: str, log: TensorrtLog) -> None:  # noqa: ANN401
        self._context = context
        self._name = name
        self._log = log

    def bind(self, tensor: str, address: int) -> None:
        """See `PlanContext`."""
        self.check(self._context.set_tensor_address(tensor, address), f"address {address:#x} of {tensor}")

    def run(self, stream: int) -> None:
        """See `PlanContext`."""
        self.check(self._context.execute_async_v3(stream), "to run")

    def shape(self, tensor: str) -> tuple[int, ...]:
        """See `PlanContext`."""
        return tuple(self._context.get_tensor_shape(tensor))

    def captured(self, memory: DeviceMemory, stream: int, copies: Sequence[DeviceCopy] = ()) -> int | None:
        """See `PlanContext`; only TensorRT-RTX ever says that its work cannot be captured."""
        ask = getattr(self._context, "is_stream_capturable", None)
        if ask is not None and not ask(stream):
            return None

        def work() -> None:
            self.run(stream)
            for copy in copies:
                memory.driver.copy(copy.target, copy.source, copy.byte_count, stream)

        return memory.captured(stream, work)

    def close(self) -> None:
        """See `PlanContext`."""
        self._context = None

    def check(self, accepted: object, what: str) -> None:
        """Raise unless TensorRT said yes."""
        if not accepted:
            raise refusal(self._log, f"{self._name} refuses {what}")


def _made_runtime(flavor: Flavor, log: TensorrtLog) -> Any:  # noqa: ANN401
    """Return TensorRT's runtime.

    Without a driver that its CUDA can work with, TensorRT raises `TypeError`, or hands out an object with nothing in
    it: to use it would end the process, and so would to destroy it. The probe of the driver does not see this where
    TensorRT was built for a later CUDA than the package that probed.
    """
    log.errors.clear()
    try:
        runtime = flavor.api.Runtime(log)
    except TypeError as error:
        raise refusal(log, f"{flavor.name} {flavor.version} cannot start; {DRIVER_ADVICE}") from error
    if log.errors:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(runtime))  # never destroyed
        raise refusal(log, f"{flavor.name} {flavor.version} cannot start; {DRIVER_ADVICE}")
    return runtime


def refusal(log: TensorrtLog, what: str) -> Exception:
    """Return the error for what TensorRT has just refused, with its own words; they are forgotten."""
    words = "; ".join(log.errors) or "it gives no reason"
    log.errors.clear()
    if any(sign in words for sign in _SIGNS_OF_FULL_MEMORY):
        return CudaOutOfMemoryError(f"{what}: {words}")
    return BackendError(f"{what}: {words}")
