"""Opens a bundle's plans on the GPU: driver first, memory plan, then as many slots as fit."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trt_engines.base import Engine, Vocoder
from trt_engines.cuda.driver import CudaDriver
from trt_engines.cuda.errors import CudaOutOfMemoryError
from trt_engines.cuda.open_driver import CudaPackage, open_driver
from trt_engines.errors import BackendError, EngineError
from trt_engines.manifest import Manifest
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.flavor import Flavor, FlavorName, load_flavor
from trt_engines.tensorrt.memory_plan import MemoryPlan
from trt_engines.tensorrt.native_step_loop import NativeStepLoop, native_module
from trt_engines.tensorrt.open_plan import open_plan
from trt_engines.tensorrt.plan_choice import choose_plans
from trt_engines.tensorrt.plan_manifest import PlanFile, PlanManifest
from trt_engines.tensorrt.plan_session import PlanSession
from trt_engines.tensorrt.prefill_runner import PrefillRunner
from trt_engines.tensorrt.reference_encoder import TensorrtReferenceEncoder
from trt_engines.tensorrt.state_vocoder import TensorrtStateVocoder
from trt_engines.tensorrt.step_loop import PythonStepLoop, StepLoop
from trt_engines.tensorrt.step_runner import StepRunner
from trt_engines.tensorrt.talker import TensorrtTalker
from trt_engines.tensorrt.talker_memory import TalkerMemory, talker_slot_bytes
from trt_engines.tensorrt.vocode_runner import VocodeRunner
from trt_engines.tensorrt.window_vocoder import TensorrtWindowVocoder

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TensorrtOptions:
    """How to run plans.

    Attributes:
        flavor: the package.
        slot_count: slots wanted; fewer are opened if the GPU or the plans have no room.
        plans_dir: where plan directories are; None for `plans` in the bundle.
        cuda_package: what speaks to the driver.
        device_index: of the GPU.
    """

    flavor: FlavorName
    slot_count: int
    plans_dir: Path | None = None
    cuda_package: CudaPackage = "auto"
    device_index: int = 0


def open_tensorrt_engine(bundle_dir: Path, manifest: Manifest, options: TensorrtOptions) -> Engine:
    """Open a bundle whose manifest has been checked.

    Raises:
        CudaUnavailableError: There is no driver, no GPU, or no package for them.
        BackendError: The package or a fitting plan is missing, or not even one slot fits.
    """
    driver = open_driver(options.cuda_package, options.device_index)
    flavor = load_flavor(options.flavor)
    plans_dir = options.plans_dir if options.plans_dir is not None else bundle_dir / "plans"
    gpu = driver.gpu()
    directory, plans = choose_plans(bundle_dir, plans_dir, manifest, flavor, gpu)
    _LOG.info("%s %s on %s (%s) through %s", flavor.name, flavor.version, gpu.name, gpu.architecture, driver.name)
    with driver.attached():
        return _Opening(driver, flavor, manifest, directory, plans, native_module()).open(options.slot_count)


@dataclass(frozen=True)
class _Opening:
    """Everything that stays the same while fewer and fewer slots are tried."""

    driver: CudaDriver
    flavor: Flavor
    manifest: Manifest
    directory: Path
    plans: PlanManifest
    native: Any | None

    def open(self, wanted_slot_count: int) -> Engine:
        free_before = self.driver.free_bytes()
        sessions = self._sessions(free_before)
        memory_plan = self._memory_plan(sessions)
        for row_count in self._row_counts(wanted_slot_count, memory_plan.largest_slot_count(free_before)):
            memory, slot_count = DeviceMemory(self.driver), min(row_count, wanted_slot_count)
            _LOG.info("%s", memory_plan.describe(row_count))
            try:
                engine = self._engine(memory, sessions, row_count, slot_count)
            except CudaOutOfMemoryError as error:
                memory.close()
                _LOG.warning("%d slots do not fit after all: %s", slot_count, error)
                continue
            except EngineError:
                memory.close()
                raise
            if slot_count < wanted_slot_count:
                _LOG.warning("%d slots were wanted; %d fit.", wanted_slot_count, slot_count)
            return engine
        raise BackendError(
            f"Not even one slot fits: {memory_plan.describe(1)}, but the GPU has {free_before / 1e6:.1f} MB free. "
            "Free memory on it, or build plans with fewer positions (--max-positions)."
        )

    def _sessions(self, free_bytes: int) -> dict[str, PlanSession]:
        allows_host_code = "VERSION_COMPATIBLE" in self.plans.build_flags
        try:
            return {
                name: open_plan(self.flavor, self.native, self.directory / plan.file, allows_host_code=allows_host_code)
                for name, plan in self.plans.plans.items()
            }
        except CudaOutOfMemoryError as error:
            weights_mb = sum(plan.byte_count for plan in self.plans.plans.values()) / 1e6
            raise BackendError(
                f"The plans' weights take {weights_mb:.1f} MB and the GPU has {free_bytes / 1e6:.1f} MB free: {error}. "
                "Free memory on it, or use a larger GPU."
            ) from error

    def _row_counts(self, wanted_slot_count: int, fitting_row_count: int) -> list[int]:
        """Return the batch buckets to try, largest first: from the one that holds all wanted slots, if it fits."""
        buckets = [profile.rows for profile in self.plans.step.profiles]
        enough = min([rows for rows in buckets if rows >= wanted_slot_count], default=buckets[-1])
        return [rows for rows in reversed(buckets) if rows <= min(enough, fitting_row_count)]

    def _memory_plan(self, sessions: dict[str, PlanSession]) -> MemoryPlan:
        plans = self.plans
        widest = max(profile.rows * profile.steps for profile in plans.vocode.profiles)
        rows = max(profile.rows for profile in plans.vocode.profiles)
        state_bytes = 4 * self.manifest.vocode.state_width
        reference_bytes = 0 if plans.encode is None else 4 * plans.encode.profiles[0].steps
        return MemoryPlan(
            weights_bytes={name: plan.byte_count for name, plan in plans.plans.items()},
            workspace_bytes=sum(_workspace_bytes(sessions, name, plan) for name, plan in plans.plans.items()),
            fixed_bytes=4 * widest * self.manifest.audio.samples_per_frame + 2 * rows * state_bytes + reference_bytes,
            talker_slot_bytes=talker_slot_bytes(self.manifest, plans),
            vocoder_slot_bytes=state_bytes,
        )

    def _engine(
        self, memory: DeviceMemory, sessions: dict[str, PlanSession], row_count: int, slot_count: int
    ) -> Engine:
        """Allocate and capture everything for so many slots."""
        talker = self._talker(memory, sessions, row_count, slot_count)
        vocoder = self._vocoder(memory, sessions, slot_count)
        encoder = self._encoder(memory, sessions)

        def close() -> None:
            talker.close()
            with self.driver.attached():
                memory.close()
                for session in sessions.values():
                    session.close()

        closing = ExitStack()  # closes once, however often it is asked to
        closing.callback(close)
        return Engine(self.manifest, talker, vocoder, (closing.close,), encoder)

    def _talker(
        self, memory: DeviceMemory, sessions: dict[str, PlanSession], row_count: int, slot_count: int
    ) -> TensorrtTalker:
        """Steps and prefill share a stream but no workspace: the native loop may step between a prefill's kernels."""
        plans, stream = self.plans, memory.stream(is_urgent=True)
        tensors = TalkerMemory(memory, self.manifest, plans, row_count, stream)
        workspace = _workspace(memory, sessions, "prefill", plans.prefill)
        prefill = PrefillRunner(memory, sessions["prefill"], plans.prefill.profiles, tensors, workspace, stream)
        workspace = _workspace(memory, sessions, "step", plans.step)
        runner = StepRunner(memory, sessions["step"], plans.step.profiles, tensors, workspace, stream)
        native = self.native if len(runner.graphs) == len(runner.buckets) else None
        _LOG.info("Steps are made by %s.", "the Python loop" if native is None else "the native loop")
        loop: StepLoop = (
            PythonStepLoop(memory, runner, tensors, stream)
            if native is None
            else NativeStepLoop(native, memory, runner.graphs, tensors, stream)
        )
        memory.on_close(loop.close)  # should the vocoder find no room, the loop's thread must end before its stream
        self.driver.synchronize(stream)
        uncaptured = tuple(sorted(set(runner.buckets) - set(runner.graphs)))
        return TensorrtTalker(self.manifest, slot_count, self.driver, tensors, prefill, loop, stream, uncaptured)

    def _vocoder(self, memory: DeviceMemory, sessions: dict[str, PlanSession], slot_count: int) -> Vocoder:
        plans, stream = self.plans, memory.stream(is_urgent=False)
        workspace = _workspace(memory, sessions, "vocode", plans.vocode)
        runner = VocodeRunner(memory, sessions["vocode"], self.manifest, plans.vocode.profiles, workspace, stream)
        self.driver.synchronize(stream)
        if self.manifest.vocode.kind == "window":
            return TensorrtWindowVocoder(memory, self.manifest, runner, slot_count)
        return TensorrtStateVocoder(memory, self.manifest, runner, slot_count, stream)

    def _encoder(self, memory: DeviceMemory, sessions: dict[str, PlanSession]) -> TensorrtReferenceEncoder | None:
        plan, reference = self.plans.encode, self.manifest.reference
        if plan is None or reference is None:
            return None
        stream, (profile,) = memory.stream(is_urgent=False), plan.profiles
        workspace = _workspace(memory, sessions, "encode", plan)
        encoder = TensorrtReferenceEncoder(
            memory, sessions["encode"], self.manifest, reference, profile, workspace, stream
        )
        self.driver.synchronize(stream)
        return encoder


def _workspace(memory: DeviceMemory, sessions: dict[str, PlanSession], name: str, plan: PlanFile) -> tuple[int, int]:
    """Allocate scratch memory for all contexts of one plan, which take turns."""
    byte_count = max(_workspace_bytes(sessions, name, plan), 1)
    return memory.allocate(byte_count), byte_count


def _workspace_bytes(sessions: dict[str, PlanSession], name: str, plan: PlanFile) -> int:
    indices: Sequence[int] = range(len(plan.profiles))
    return max(sessions[name].workspace_bytes(index) for index in indices)
