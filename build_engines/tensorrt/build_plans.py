"""Builds the plans of a bundle into a directory of their own, and leaves alone what is still good."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import onnx

from build_engines.tensorrt.plan_builder import PlanBuilder, Progress
from build_engines.tensorrt.plan_options import (
    PlanOptions,
    encode_profile,
    prefill_profiles,
    step_profiles,
    vocode_profiles,
)
from build_engines.tensorrt.tensorrt_graph import Operation, tensorrt_graph
from trt_engines.cuda.open_driver import open_driver
from trt_engines.errors import BackendError, ManifestError
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import file_hash, load_manifest
from trt_engines.tensorrt.flavor import load_flavor
from trt_engines.tensorrt.plan_manifest import (
    PLAN_SCHEMA_VERSION,
    PlanFile,
    PlanManifest,
    PlanProfile,
    graph_names,
    read_plan_manifest,
    write_plan_manifest,
)

GRAPH_FORM = 2  # raised whenever `tensorrt_graph` or the builder's configuration makes something else of the same input
TIMING_CACHE = "kernels.timing-cache"

Report = Callable[[str], None]


def build_plans(
    bundle_dir: Path, plans_dir: Path, options: PlanOptions, report: Report, progress: Progress | None = None
) -> PlanManifest:
    """Build the plans of a bundle into `plans_dir/<backend>-<architectures>`; a plan that is still good is kept.

    Args:
        bundle_dir: the bundle.
        plans_dir: where plan directories are kept; may be a volume of its own.
        options: what to build.
        report: told what was built or kept, one line each.
        progress: told how far a build is.

    Raises:
        ManifestError: the bundle is not what its manifest says.
        BackendError: the package is missing, TensorRT refuses a graph, or a target cannot be built for.
        CudaUnavailableError: no targets were named and there is no GPU.
    """
    manifest, flavor = load_manifest(bundle_dir), load_flavor(options.flavor)
    if options.targets and flavor.name == "tensorrt":
        raise BackendError(
            f"tensorrt builds for the GPU of its machine, not for {', '.join(options.targets)}. "
            "Leave --target out, or use --backend tensorrt-rtx."
        )
    architectures = options.targets or (open_driver().gpu().architecture,)
    directory = plans_dir / f"{flavor.name}-{'-'.join(architectures)}"
    directory.mkdir(parents=True, exist_ok=True)
    plan_builder = PlanBuilder(flavor, options, options.targets, directory / TIMING_CACHE, progress)
    job = _Job(bundle_dir, directory, manifest, plan_builder, architectures, report)
    built = {operation: job.plan(operation) for operation in get_args(Operation) if operation in graph_names(manifest)}
    plans = PlanManifest(
        schema_version=PLAN_SCHEMA_VERSION,
        bundle_id=manifest.id,
        flavor=flavor.name,
        version=flavor.version,
        architectures=architectures,
        precision=options.precision,
        max_positions=job.max_positions,
        build_flags=options.flags,
        prefill=built["prefill"],
        step=built["step"],
        vocode=built["vocode"],
        encode=built.get("encode"),
    )
    write_plan_manifest(plans, directory)
    return plans


@dataclass(frozen=True)
class _Job:
    """One call of `build_plans`."""

    bundle_dir: Path
    directory: Path
    manifest: Manifest
    plan_builder: PlanBuilder
    architectures: tuple[str, ...]
    report: Report

    @property
    def max_positions(self) -> int:
        return self.plan_builder.options.max_positions or self.manifest.max_positions

    def plan(self, operation: Operation) -> PlanFile:
        """Return the plan of one operation, built or kept."""
        graph_name = graph_names(self.manifest)[operation]
        profiles = self._profiles(operation)
        key = self._build_key(operation, graph_name, profiles)
        kept = self._kept(operation, key)
        if kept is not None:
            self.report(f"{operation}: {kept.file} is up to date")
            return kept
        started = time.perf_counter()
        model = onnx.load(self.bundle_dir / graph_name)
        graph = tensorrt_graph(model, operation, self.plan_builder.options.precision, self.max_positions)
        plan = self.plan_builder.build(graph, profiles)
        seconds = round(time.perf_counter() - started, 1)
        path = self.directory / f"{operation}.plan"
        path.write_bytes(plan)
        self.report(
            f"{operation}: built {path.name}, {len(plan) / 1e6:.1f} MB for {len(profiles)} shapes, in {seconds} s"
        )
        graph_hash = self.manifest.hashes[graph_name]
        return PlanFile(path.name, file_hash(path), len(plan), graph_hash, key, seconds, profiles)

    def _profiles(self, operation: Operation) -> tuple[PlanProfile, ...]:
        if operation == "prefill":
            return prefill_profiles(min(self.manifest.prefill.chunk_rows, self.max_positions))
        if operation == "step":
            return step_profiles(self.plan_builder.options.slot_count)
        if operation == "encode" and self.manifest.reference is not None:
            return (encode_profile(self.manifest.reference),)
        return vocode_profiles(self.plan_builder.options.vocode_rows, vocode_frame_counts(self.manifest))

    def _build_key(self, operation: Operation, graph_name: str, profiles: tuple[PlanProfile, ...]) -> str:
        """Return a hash of everything that decides a plan."""
        flavor, options = self.plan_builder.flavor, self.plan_builder.options
        parts = [
            GRAPH_FORM, operation, self.manifest.hashes[graph_name], flavor.name, flavor.version, self.architectures,
            options.precision, self.max_positions, options.optimization_level, options.workspace_bytes, options.flags,
            [(profile.rows, profile.steps, profile.least_steps) for profile in profiles],
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _kept(self, operation: Operation, key: str) -> PlanFile | None:
        """Return the plan that is there already, if it is what a build would make."""
        try:
            known = read_plan_manifest(self.directory).plans.get(operation)
        except ManifestError:
            return None
        if known is None:
            return None
        path = self.directory / known.file
        is_good = known.build_key == key and path.exists() and file_hash(path) == known.sha256
        return known if is_good else None


def vocode_frame_counts(manifest: Manifest) -> tuple[int, ...]:
    """Return the frame counts that vocode is built for: a first chunk and a whole one, each with room for its flush."""
    spec = manifest.vocode
    room = spec.lookahead_frames + spec.left_frames
    return tuple(sorted({spec.first_chunk_frames + room, spec.chunk_frames + room}))
