"""One plan loaded on the GPU, and execution contexts whose shapes and addresses are set once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trt_engines.errors import BackendError
from trt_engines.tensorrt.flavor import Flavor
from trt_engines.tensorrt.log import tensorrt_log

Shapes = Mapping[str, tuple[int, ...]]
Addresses = Mapping[str, int]


class PlanSession:
    """A deserialized plan.

    The GPU must have been opened before (`open_driver`): TensorRT's own runtime ends the process where there is no
    driver.

    Raises:
        BackendError: TensorRT refuses the plan.
    """

    def __init__(self, flavor: Flavor, plan: Path) -> None:
        self._flavor = flavor
        log = tensorrt_log(flavor)
        log.errors.clear()
        self._runtime = flavor.api.Runtime(log)
        self._engine: Any = self._runtime.deserialize_cuda_engine(plan.read_bytes())
        if self._engine is None:
            reasons = "; ".join(log.errors) or "it gives no reason"
            raise BackendError(f"{flavor.name} {flavor.version} cannot load {plan}: {reasons}")
        self.name = plan.name

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """Inputs and outputs."""
        return tuple(self._engine.get_tensor_name(index) for index in range(self._engine.num_io_tensors))

    def is_input(self, tensor: str) -> bool:
        """Whether a tensor is an input."""
        return bool(self._engine.get_tensor_mode(tensor) == self._flavor.api.TensorIOMode.INPUT)

    def workspace_bytes(self, profile: int) -> int:
        """Scratch memory that a context of this profile needs."""
        return int(self._engine.get_device_memory_size_for_profile_v2(profile))

    def open_context(
        self, profile: int, shapes: Shapes, addresses: Addresses, workspace: tuple[int, int], stream: int
    ) -> "PlanContext":
        """Return a context bound for good.

        Args:
            profile: index of the optimization profile.
            shapes: shape of each input.
            addresses: device address of each input and output.
            workspace: address and size of scratch memory, which contexts of one stream may share.
            stream: where the switch of profiles is put.

        Raises:
            BackendError: TensorRT refuses a shape or an address.
        """
        context = self._engine.create_execution_context(self._context_configuration())
        bound = PlanContext(context, f"{self.name}, profile {profile}")
        bound.check(context.set_optimization_profile_async(profile, stream), "the profile")
        context.set_device_memory(*workspace)
        for name in self.tensor_names:
            if self.is_input(name):
                bound.check(context.set_input_shape(name, shapes[name]), f"shape {shapes[name]} of {name}")
            bound.bind(name, addresses[name])
        missing = context.infer_shapes()
        bound.check(not missing, f"its inputs: {missing} are not set")
        return bound

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


class PlanContext:
    """An execution context with everything bound."""

    def __init__(self, context: Any, name: str) -> None:  # noqa: ANN401
        self._context = context
        self._name = name

    def bind(self, tensor: str, address: int) -> None:
        """Bind one tensor to another address."""
        self.check(self._context.set_tensor_address(tensor, address), f"address {address:#x} of {tensor}")

    def run(self, stream: int) -> None:
        """Put the work on a stream."""
        self.check(self._context.execute_async_v3(stream), "to run")

    def is_capturable(self, stream: int) -> bool:
        """Whether the work can become a CUDA graph; only TensorRT-RTX ever says no."""
        ask = getattr(self._context, "is_stream_capturable", None)
        return ask is None or bool(ask(stream))

    def check(self, accepted: object, what: str) -> None:
        """Raise unless TensorRT said yes."""
        if not accepted:
            raise BackendError(f"{self._name} refuses {what}; the log has TensorRT's words. Build the plans again.")
