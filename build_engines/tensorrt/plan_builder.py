"""One ONNX graph in, one TensorRT plan out."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from build_engines.tensorrt.plan_options import PlanOptions
from trt_engines.errors import BackendError
from trt_engines.tensorrt.flavor import Flavor
from trt_engines.tensorrt.log import tensorrt_log
from trt_engines.tensorrt.plan_manifest import PlanProfile
from trt_engines.tensorrt.python_plan_session import DRIVER_ADVICE, refusal

_ROW_AXES = ("B", "N")
_STEP_AXES = ("L", "F", "S")
_EXTERNAL_DATA_BYTES = 1 << 20

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PlanBuilder:
    """Builds plans with one set of options.

    Attributes:
        flavor: the package.
        options: what was chosen.
        targets: architectures to build for; empty for this machine's GPU.
        timing_cache: file of measured kernel times, read if it exists and written after each build; None without one.
        progress: told the phase, the step reached and the number of steps.
    """

    flavor: Flavor
    options: PlanOptions
    targets: tuple[str, ...] = ()
    timing_cache: Path | None = None
    progress: Progress | None = None

    def build(self, model: onnx.ModelProto, profiles: Sequence[PlanProfile]) -> bytes:
        """Build a plan with one optimization profile per shape, in this order.

        Raises:
            BackendError: TensorRT refuses the graph or cannot build it; says in its words why.
        """
        api, log = self.flavor.api, tensorrt_log(self.flavor)
        log.errors.clear()
        try:
            builder = api.Builder(log)
        except TypeError as error:  # what TensorRT's package raises where its CUDA finds no driver
            raise refusal(log, f"{self.flavor.name} {self.flavor.version} cannot start; {DRIVER_ADVICE}") from error
        # Always so in TensorRT 11. In 10 a network computes in float32, whatever the graph says, unless it is asked.
        network = builder.create_network(1 << int(api.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.onnx"
            onnx.save(model, path, save_as_external_data=True, size_threshold=_EXTERNAL_DATA_BYTES)
            parser = api.OnnxParser(network, log)  # owns the weights until the plan is built
            if not parser.parse_from_file(str(path)):
                reasons = "; ".join(parser.get_error(index).desc() for index in range(parser.num_errors))
                raise BackendError(
                    f"{self.flavor.name} {self.flavor.version} cannot read {model.graph.name}: {reasons}"
                )
            _allow_plain_attention(network, api)
            config = self._config(builder)
            for profile in profiles:
                config.add_optimization_profile(_profile(builder.create_optimization_profile(), model, profile))
            cache = self._attach_timing_cache(config)
            plan = builder.build_serialized_network(network, config)
        if plan is None:
            reasons = "; ".join(log.errors) or "it gives no reason"
            raise BackendError(f"{self.flavor.name} {self.flavor.version} cannot build {model.graph.name}: {reasons}")
        if cache is not None and self.timing_cache is not None:
            self.timing_cache.write_bytes(bytes(cache.serialize()))
        return bytes(plan)

    def _config(self, builder: Any) -> Any:  # noqa: ANN401 # TensorRT's objects have no types
        api, options = self.flavor.api, self.options
        config = builder.create_builder_config()
        config.profiling_verbosity = api.ProfilingVerbosity.DETAILED
        config.builder_optimization_level = options.optimization_level
        # On by default, it rounds the inputs of float32 products to 10 bits; what is float32 here is so for a reason.
        config.clear_flag(api.BuilderFlag.TF32)
        if options.workspace_bytes is not None:
            config.set_memory_pool_limit(api.MemoryPoolType.WORKSPACE, options.workspace_bytes)
        if options.is_version_compatible:
            config.set_flag(api.BuilderFlag.VERSION_COMPATIBLE)
        if options.is_hardware_compatible:
            config.hardware_compatibility_level = api.HardwareCompatibilityLevel.AMPERE_PLUS
        if self.flavor.name == "tensorrt-rtx":
            # Without it RTX allocates inside the run, and a run that allocates cannot be captured into a CUDA graph.
            config.set_flag(api.BuilderFlag.REQUIRE_USER_ALLOCATION)
        if self.targets:
            self._set_targets(config)
        if self.progress is not None:
            config.progress_monitor = _progress_monitor(api, self.progress)
        return config

    def _set_targets(self, config: Any) -> None:  # noqa: ANN401
        known = self.flavor.api.ComputeCapability.__members__
        config.num_compute_capabilities = len(self.targets)
        for index, target in enumerate(self.targets):
            capability = known.get(target.upper())
            if capability is None or not config.set_compute_capability(capability, index):
                names = ", ".join(name.lower() for name in known if name.startswith("SM"))
                raise BackendError(f"{self.flavor.name} {self.flavor.version} builds for {names}, not for {target!r}.")

    def _attach_timing_cache(self, config: Any) -> Any | None:  # noqa: ANN401
        """Give the build the kernel times measured before; RTX measures none until the plan runs."""
        if self.timing_cache is None or self.flavor.name == "tensorrt-rtx":
            return None
        known = self.timing_cache.read_bytes() if self.timing_cache.exists() else b""
        cache = config.create_timing_cache(known)
        config.set_timing_cache(cache, False)
        return config.get_timing_cache()


def profile_shapes(model: onnx.ModelProto, profile: PlanProfile) -> dict[str, tuple[int, ...]]:
    """Return the largest shape of every input of a graph under a profile."""
    sizes = dict.fromkeys(_ROW_AXES, profile.rows) | dict.fromkeys(_STEP_AXES, profile.steps)
    shapes = {}
    for item in model.graph.input:
        axes = item.type.tensor_type.shape.dim
        shapes[item.name] = tuple(sizes[axis.dim_param] if axis.dim_param else axis.dim_value for axis in axes)
    return shapes


def _profile(profile: Any, model: onnx.ModelProto, shape: PlanProfile) -> Any:  # noqa: ANN401
    largest = profile_shapes(model, shape)
    smallest = profile_shapes(model, PlanProfile(shape.rows, shape.least_steps or shape.steps))
    for name, sizes in largest.items():
        usual = tuple((least + most) // 2 for least, most in zip(smallest[name], sizes, strict=True))
        profile.set_shape(name, smallest[name], usual, sizes)
    return profile


def _allow_plain_attention(network: Any, api: Any) -> None:  # noqa: ANN401
    """Let attention be made of plain operators where no fused kernel fits, instead of failing; fused ones go first."""
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.type == api.LayerType.ATTENTION_INPUT:
            layer.__class__ = api.IAttentionInputLayer  # the parser hands out the base class
            layer.attention.decomposable = True


def _progress_monitor(api: Any, progress: Progress) -> Any:  # noqa: ANN401
    class Monitor(api.IProgressMonitor):  # type: ignore[misc] # its class is known only once the package is imported
        def __init__(self) -> None:
            api.IProgressMonitor.__init__(self)
            self._step_counts: dict[str, int] = {}

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            del parent_phase
            self._step_counts[phase_name] = num_steps
            progress(phase_name, 0, num_steps)

        def step_complete(self, phase_name: str, step: int) -> bool:
            progress(phase_name, step + 1, self._step_counts[phase_name])
            return True

        def phase_finish(self, phase_name: str) -> None:
            progress(phase_name, self._step_counts[phase_name], self._step_counts[phase_name])

    return Monitor()
