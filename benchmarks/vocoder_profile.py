"""Where the time of a vocoder call goes: nodes, and shares by kind of operator, as ONNX Runtime's profiler tells."""

import json
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from benchmarks.vocoder_calls import vocode_inputs
from trt_engines.manifest_loading import load_manifest
from trt_engines.onnx_runtime.denormals import denormals_flushed

RUNS = 20
PRODUCTS = ("MatMul", "FusedMatMul", "Gemm", "MatMulNBits")
_KINDS = {
    "matrix products": PRODUCTS,
    "convolutions": ("Conv", "ReorderInput", "ReorderOutput"),
    "norms and functions": (
        "LayerNormalization", "Gelu", "BiasGelu", "Tanh", "Exp", "Sin", "Cos", "CumSum", "Floor", "Round",
    ),
    "arithmetic": ("Add", "Sub", "Mul", "Div", "Min", "Max", "Abs", "Where", "Mod", "Clip"),
    "moving": ("Slice", "Concat", "Split", "Gather", "GatherND", "GatherElements", "Reshape", "Transpose", "Unsqueeze",
        "Squeeze", "Cast"),
}  # fmt: skip


@dataclass(frozen=True)
class VocoderProfile:
    """One kind of call, profiled.

    Attributes:
        streams, frames: of the call.
        nodes: that run in it, after ONNX Runtime's own optimizations.
        shares: of the time, by kind of operator.
        macs_per_frame: multiplications of all matrix products, for one frame of one stream.
        matrix_bytes: of all constant matrices that are multiplied by, in float32.
    """

    streams: int
    frames: int
    nodes: int
    shares: dict[str, float]
    macs_per_frame: int
    matrix_bytes: int

    @classmethod
    def of(cls, bundle: Path, streams: int, frames: int) -> "VocoderProfile":
        """Run calls of a bundle's vocoder under the profiler."""
        nodes = _events(bundle, streams, frames)
        total, by_kind = sum(event["dur"] for event in nodes), defaultdict[str, float](float)
        for event in nodes:
            by_kind[_kind(event["args"]["op_name"])] += event["dur"] / total
        products = [event["args"] for event in nodes if event["args"]["op_name"] in PRODUCTS]
        matrices = [(_shape(args["input_type_shape"][0])[-1], args["output_type_shape"][0]) for args in products]
        macs = sum(inputs * int(np.prod(_shape(made))) for inputs, made in matrices)
        matrix_bytes = sum(4 * inputs * _shape(made)[-1] for inputs, made in matrices)
        shares = {kind: round(share, 3) for kind, share in sorted(by_kind.items(), key=lambda item: -item[1])}
        count = len(nodes) // RUNS
        return cls(streams, frames, count, shares, macs // RUNS // (streams * frames), matrix_bytes // RUNS)

    def told(self) -> dict[str, object]:
        """Return all of it as plain data."""
        return {
            "streams": self.streams,
            "frames": self.frames,
            "nodes": self.nodes,
            "shares": self.shares,
            "million_macs_per_frame": round(self.macs_per_frame / 1e6, 2),
            "matrix_mb": round(self.matrix_bytes / 1e6, 1),
        }


def _events(bundle: Path, streams: int, frames: int) -> list[dict[str, Any]]:
    """Return the profiler's record of every node of RUNS runs."""
    manifest = load_manifest(bundle)
    inputs = vocode_inputs(streams, frames, manifest)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as scratch, denormals_flushed():
        options.profile_file_prefix = str(Path(scratch) / "profile")
        path = str(bundle / manifest.vocode.graph)
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for _ in range(RUNS):
            inputs["state"] = np.asarray(session.run(["state_out"], inputs)[0])
        events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    return [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]


def _kind(operator: str) -> str:
    return next((kind for kind, operators in _KINDS.items() if operator in operators), "others")


def _shape(typed: dict[str, list[int]]) -> list[int]:
    return next(iter(typed.values()))
