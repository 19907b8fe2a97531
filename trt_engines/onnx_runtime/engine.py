"""Opens the graphs of a bundle."""

from pathlib import Path

from trt_engines.base import Engine
from trt_engines.engine_options import EngineOptions
from trt_engines.manifest import Manifest
from trt_engines.onnx_runtime.lane_vocoder import LaneVocoder
from trt_engines.onnx_runtime.lanes import Lanes
from trt_engines.onnx_runtime.reference_encoder import OrtReferenceEncoder
from trt_engines.onnx_runtime.state_vocoder import StateVocoder
from trt_engines.onnx_runtime.talker import OrtTalker
from trt_engines.onnx_runtime.window_vocoder import WindowVocoder

LARGE_BYTES = 256 << 20
"""Weights beyond any processor's cache: each lane would read them from memory again, a pool reads them once.

Fish Speech 1.5 in float32 on two cores, 1, 4 and 8 rows: lanes 330, 319 and 382 ms a step, a pool 203, 212 and 293 ms.
"""


def open_engine(bundle_dir: Path, manifest: Manifest, options: EngineOptions) -> Engine:
    """Open the graphs of a bundle whose manifest has been checked.

    Raises:
        ManifestError: A graph is not what the manifest implies.
        BackendError: ONNX Runtime cannot load a graph.
    """
    vocoder_kind = StateVocoder if manifest.vocode.kind == "state" else WindowVocoder
    lanes = _lanes(bundle_dir / manifest.step.graph, options.threads)
    prefix_bytes = options.prefix_cache_bytes if manifest.capabilities.clone else 0
    talker = OrtTalker(bundle_dir, manifest, options.slot_count, lanes, prefix_bytes)
    vocoder = LaneVocoder(vocoder_kind(bundle_dir, manifest, options.slot_count), lanes)
    reference = manifest.reference
    encoder = None if reference is None else OrtReferenceEncoder(bundle_dir, manifest, reference)
    return Engine(manifest, talker, vocoder, (lanes.close,), encoder)


def _lanes(step: Path, threads: int) -> Lanes:
    """Return the threads of the talker: lanes share out its rows, or where it is large a pool its weights."""
    weight_bytes = sum(path.stat().st_size for path in step.parent.glob(f"{step.stem}.*"))
    if weight_bytes > LARGE_BYTES:
        return Lanes(1, "talker", pool_threads=threads)
    return Lanes(threads, "talker")
