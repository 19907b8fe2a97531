"""TensorRT made of ONNX Runtime: plans are ONNX graphs, and a run is queued on the GPU double like any other work.

Strict where TensorRT is: shapes must be those of a profile, every tensor needs an address, a cache's input and output
share one, nothing else overlaps, and the default stream is refused.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray

from build_engines.tensorrt.plan_builder import profile_shapes
from tests.trt_engines.gpu_double import GpuDouble
from trt_engines.tensorrt.plan_manifest import PlanProfile

WORKSPACE_BYTES = 4096
_Profile = dict[str, tuple[list[int], list[int]]]  # smallest and largest shape of each input
_DTYPES = {"float": "float32", "float16": "float16", "int32": "int32", "int64": "int64", "bool": "bool"}


def double_plan(model: onnx.ModelProto, profiles: Sequence[PlanProfile]) -> bytes:
    """Return the bytes that the double takes for a plan."""
    shapes = []
    for profile in profiles:
        largest = profile_shapes(model, profile)
        smallest = profile_shapes(model, PlanProfile(profile.rows, profile.least_steps or profile.steps))
        shapes.append({name: (smallest[name], sizes) for name, sizes in largest.items()})
    return json.dumps(shapes).encode() + b"\n" + model.SerializeToString()


class _Mode(Enum):
    NONE = 0
    INPUT = 1
    OUTPUT = 2


class _Logger:
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)


@dataclass
class TensorrtDouble:
    """The module `tensorrt`.

    Attributes:
        gpu: where the work goes.
        refuse_plans: make `deserialize_cuda_engine` fail as TensorRT does, with these words.
        cannot_start: make the runtime as TensorRT does where its CUDA finds no driver, with these words.
        cannot_capture: make every context say that its work cannot be captured, as TensorRT-RTX may.
        host_tensors: inputs that are said to be in host memory.
        full_once: graphs of which the next context finds no memory, once for each entry.
        refuse_captures: graphs whose runs are refused inside a capture.
        runs: (plan's graph, rows) of every run that was put on a stream, captures included.
        workspaces: address and size of the scratch memory that each graph was given.
        alive: engines and contexts that somebody still holds.
        host_code: whether host code was allowed, for each plan that was loaded.
    """

    gpu: GpuDouble
    refuse_plans: str = ""
    cannot_start: str = ""
    cannot_capture: bool = False
    host_tensors: tuple[str, ...] = ()
    full_once: list[str] = field(default_factory=list)
    refuse_captures: tuple[str, ...] = ()
    runs: list[tuple[str, int]] = field(default_factory=list)
    workspaces: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    host_code: list[bool] = field(default_factory=list)
    alive: "WeakSet[_Engine | _Context]" = field(default_factory=WeakSet)
    __version__ = "11.4.0.106"
    ILogger = _Logger
    TensorIOMode = _Mode
    TensorLocation = SimpleNamespace(DEVICE="device", HOST="host")
    ExecutionContextAllocationStrategy = SimpleNamespace(USER_MANAGED="user managed")
    CudaGraphStrategy = SimpleNamespace(DISABLED="disabled")
    DynamicShapesKernelSpecializationStrategy = SimpleNamespace(EAGER="eager")

    def __hash__(self) -> int:
        return id(self)

    def Runtime(self, log: Any) -> "_Runtime | _EmptyRuntime":  # noqa: N802 # TensorRT's spelling
        """Make a runtime."""
        if self.cannot_start:
            log.log(_Logger.ERROR, self.cannot_start)
            return _EmptyRuntime(self)
        return _Runtime(self, log)


@dataclass
class _EmptyRuntime:
    """What TensorRT hands out without a driver; to destroy it ends the process, here it is noted."""

    api: TensorrtDouble

    def __del__(self) -> None:
        self.api.runs.append(("destroyed what cannot be", 0))


@dataclass
class _Runtime:
    api: TensorrtDouble
    log: Any
    engine_host_code_allowed: bool = False

    def deserialize_cuda_engine(self, plan: bytes) -> "_Engine | None":
        self.api.host_code.append(self.engine_host_code_allowed)
        if self.api.refuse_plans:
            self.log.log(_Logger.ERROR, self.api.refuse_plans)
            return None
        header, _, model = plan.partition(b"\n")
        return _Engine(self.api, self.log, json.loads(header), model)


class _Engine:
    def __init__(self, api: TensorrtDouble, log: Any, profiles: list[_Profile], model: bytes) -> None:
        self.api = api
        self.api.alive.add(self)
        self.log = log
        self.profiles = profiles
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # TensorScatter warns when it cannot work in place; here it never can
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.name = onnx.load_from_string(model).graph.name
        inputs, outputs = self.session.get_inputs(), self.session.get_outputs()
        self.inputs = {item.name: _DTYPES[item.type[7:-1]] for item in inputs}
        self.outputs = {item.name: _DTYPES[item.type[7:-1]] for item in outputs}

    @property
    def num_io_tensors(self) -> int:
        return len(self.inputs) + len(self.outputs)

    def get_tensor_name(self, index: int) -> str:
        return [*self.inputs, *self.outputs][index]

    def get_tensor_mode(self, name: str) -> _Mode:
        return _Mode.INPUT if name in self.inputs else _Mode.OUTPUT

    def get_tensor_location(self, name: str) -> str:
        return "host" if name in self.api.host_tensors else "device"

    def get_device_memory_size_for_profile_v2(self, profile: int) -> int:
        return WORKSPACE_BYTES * (profile + 1)

    def create_runtime_config(self) -> Any:
        return SimpleNamespace(set_execution_context_allocation_strategy=lambda _strategy: None)

    def create_execution_context(self, configuration: Any) -> "_Context | None":
        assert configuration is not None
        if self.name in self.api.full_once:
            self.api.full_once.remove(self.name)
            self.log.log(_Logger.ERROR, "IExecutionContext: Error Code 2: OutOfMemory (Requested size was 9 bytes.)")
            return None
        return _Context(self)


class _Context:
    def __init__(self, engine: _Engine) -> None:
        self._engine = engine
        engine.api.alive.add(self)
        self._profile: _Profile | None = None
        self._workspace = 0
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._addresses: dict[str, int] = {}

    def set_optimization_profile_async(self, index: int, stream: int) -> bool:
        assert stream != 0
        self._profile = self._engine.profiles[index]
        self._workspace = self._engine.get_device_memory_size_for_profile_v2(index)
        return True

    def set_device_memory(self, address: int, byte_count: int) -> None:
        assert byte_count >= self._workspace
        self._engine.api.gpu.view(address, byte_count)
        self._engine.api.workspaces.setdefault(self._engine.name, set()).add((address, byte_count))

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        assert self._profile is not None
        self._shapes[name] = shape
        smallest, largest = self._profile[name]
        return all(least <= size <= most for least, size, most in zip(smallest, shape, largest, strict=True))

    def set_tensor_address(self, name: str, address: int) -> bool:
        self._addresses[name] = address
        return address % 4 == 0

    def infer_shapes(self) -> list[str]:
        return [name for name in self._engine.inputs if name not in self._shapes]

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        """Run on zeros, which has the same shapes, and look."""
        if name in self._shapes:
            return self._shapes[name]
        feeds = {tensor: np.zeros(self._shapes[tensor], dtype) for tensor, dtype in self._engine.inputs.items()}
        shape: tuple[int, ...] = self._engine.session.run([name], feeds)[0].shape
        return shape

    def is_stream_capturable(self, stream: int) -> bool:
        assert stream != 0
        return not self._engine.api.cannot_capture

    def execute_async_v3(self, stream: int) -> bool:
        assert stream != 0
        engine, addresses = self._engine, dict(self._addresses)
        assert set(addresses) >= {*engine.inputs, *engine.outputs}
        rows = next(iter(self._shapes.values()))[0]
        if engine.name in engine.api.refuse_captures and engine.api.gpu.is_capturing(stream):
            engine.log.log(_Logger.ERROR, "IExecutionContext::enqueueV3: Error Code 1: Cuda Runtime")
            return False
        engine.api.runs.append((engine.name, rows))
        engine.api.gpu.enqueue(f"run {engine.name} {rows}", stream, lambda: self._run(addresses))
        return True

    def _run(self, addresses: dict[str, int]) -> None:
        """Read the inputs from where they are by now, run, and write the outputs."""
        engine = self._engine
        feeds = {name: self._view(addresses[name], self._shapes[name], dtype) for name, dtype in engine.inputs.items()}
        results = engine.session.run(list(engine.outputs), {name: array.copy() for name, array in feeds.items()})
        targets = {}
        for name, result in zip(engine.outputs, results, strict=True):
            targets[name] = self._view(addresses[name], result.shape, engine.outputs[name])
        _assert_apart(feeds, targets)
        for (name, target), result in zip(targets.items(), results, strict=True):
            assert result.dtype == target.dtype, name
            target[...] = result

    def _view(self, address: int, shape: Sequence[int], dtype: str) -> NDArray[Any]:
        byte_count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return self._engine.api.gpu.view(address, byte_count).view(dtype).reshape(shape)


def _assert_apart(feeds: dict[str, NDArray[Any]], targets: dict[str, NDArray[Any]]) -> None:
    """A cache is written where it was read; every other output has memory of its own."""
    for name, target in targets.items():
        source = name.removesuffix("_out")
        for other, feed in feeds.items():
            is_cache = other == source and other[:2] in ("k_", "v_")
            assert np.shares_memory(target, feed) == is_cache, f"{name} and {other}"
