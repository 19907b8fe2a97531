"""Plans for the TensorRT double, in a directory as `build_engines` leaves it."""

from pathlib import Path
from typing import Any

import onnx

from build_engines.tensorrt.build_plans import vocode_frame_counts
from build_engines.tensorrt.plan_options import encode_profile, prefill_profiles, step_profiles, vocode_profiles
from build_engines.tensorrt.tensorrt_graph import Operation, tensorrt_graph
from tests.trt_engines.tensorrt_double import double_plan
from trt_engines.manifest_loading import file_hash, load_manifest
from trt_engines.tensorrt.plan_manifest import (
    PLAN_SCHEMA_VERSION,
    PlanFile,
    PlanManifest,
    PlanProfile,
    Precision,
    graph_names,
    write_plan_manifest,
)


def write_double_plans(
    bundle_dir: Path, plans_dir: Path, slot_count: int = 8, precision: Precision = "float32"
) -> PlanManifest:
    """Write plans for an sm89 GPU and the version of the double."""
    manifest = load_manifest(bundle_dir)
    directory = plans_dir / "tensorrt-sm89"
    directory.mkdir(parents=True)
    graphs = graph_names(manifest)
    profiles: dict[Operation, tuple[PlanProfile, ...]] = {
        "prefill": prefill_profiles(manifest.prefill.chunk_rows),
        "step": step_profiles(slot_count),
        "vocode": vocode_profiles(4, vocode_frame_counts(manifest)),
    }
    if manifest.reference is not None:
        profiles["encode"] = (encode_profile(manifest.reference),)
    files: dict[str, Any] = {"encode": None}
    for operation, shapes in profiles.items():
        model = onnx.load(bundle_dir / graphs[operation])
        graph = tensorrt_graph(model, operation, precision, manifest.max_positions)
        path = directory / f"{operation}.plan"
        path.write_bytes(double_plan(graph, shapes))
        graph_hash = manifest.hashes[graphs[operation]]
        files[operation] = PlanFile(path.name, file_hash(path), path.stat().st_size, graph_hash, "key", 0.0, shapes)
    plans = PlanManifest(
        PLAN_SCHEMA_VERSION,
        manifest.id,
        "tensorrt",
        "11.4.0.106",
        ("sm89",),
        precision,
        manifest.max_positions,
        (),
        **files,
    )
    write_plan_manifest(plans, directory)
    return plans
