"""NVIDIA's compiler on a bundle's graphs, with no GPU: time, memory, size, and how much of the attention is fused.

    pip install 'antiphon[tensorrt-rtx]'
    python -m benchmarks.compile_plans voices/default
    python -m benchmarks.compile_plans build/fish-full/bundle-float16 --rows 8 --max-positions 2048

Builds one plan per graph for one shape, each in a process of its own, so that the memory is that of the one build.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, get_args

import onnx

from build_engines.tensorrt.build_plans import vocode_frame_counts
from build_engines.tensorrt.engine_layers import engine_layers
from build_engines.tensorrt.plan_builder import PlanBuilder
from build_engines.tensorrt.plan_options import PlanOptions, encode_profile
from build_engines.tensorrt.tensorrt_graph import Operation, tensorrt_graph
from trt_engines.manifest_loading import read_manifest
from trt_engines.tensorrt.flavor import load_flavor
from trt_engines.tensorrt.log import tensorrt_log
from trt_engines.tensorrt.plan_manifest import PlanProfile, graph_names


def main() -> None:
    """Build and print one line per graph."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--target", nargs="+", default=["sm80", "sm89"], help="GPUs to build for")
    parser.add_argument("--rows", type=int, default=8, help="rows of step and vocode")
    parser.add_argument("--max-positions", type=int, help="shorter caches than the voice has")
    parser.add_argument("--operation", choices=get_args(Operation), help="build this one here (used internally)")
    options = parser.parse_args()
    if options.operation:
        print(json.dumps(_built(options)))
        return
    for operation in graph_names(read_manifest(options.bundle / "manifest.json")):
        command = [sys.executable, "-m", "benchmarks.compile_plans", *sys.argv[1:], "--operation", operation]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        failed = f"{operation}: failed\n{made.stderr[-2000:]}"
        print(made.stdout.splitlines()[-1] if made.returncode == 0 else failed, flush=True)


def _built(options: argparse.Namespace) -> dict[str, Any]:
    manifest = read_manifest(options.bundle / "manifest.json")
    profiles = {
        "prefill": PlanProfile(1, manifest.prefill.chunk_rows),
        "step": PlanProfile(options.rows, 1),
        "vocode": PlanProfile(options.rows, vocode_frame_counts(manifest)[0]),
    }
    if manifest.reference is not None:
        profiles["encode"] = encode_profile(manifest.reference)
    started = time.perf_counter()
    model = onnx.load(options.bundle / graph_names(manifest)[options.operation])
    graph = tensorrt_graph(model, options.operation, "float16", options.max_positions or manifest.max_positions)
    del model
    converted = time.perf_counter()
    flavor = load_flavor("tensorrt-rtx")
    log = tensorrt_log(flavor)
    log.recorded = []
    builder = PlanBuilder(flavor, PlanOptions("tensorrt-rtx"), tuple(options.target))
    plan = builder.build(graph, [profiles[options.operation]])
    built = time.perf_counter()
    layers = engine_layers(log.recorded).layers
    return {
        "graph": options.operation,
        "nodes": len(graph.graph.node),
        "convert_s": round(converted - started, 1),
        "build_s": round(built - converted, 1),
        "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 1),
        "plan_mb": round(len(plan) / 1e6, 1),
        "kernels": len(layers),
        "attentions": sum(node.op_type == "Attention" for node in graph.graph.node),
        "fused_attentions": sum(layer.is_fused_attention for layer in layers),
    }


if __name__ == "__main__":
    main()
