"""From the directory of a bundle to an engine that runs it, or a sentence saying why not."""

import importlib.util
from pathlib import Path

from trt_engines.base import Engine
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import BackendError
from trt_engines.manifest_loading import load_manifest


def load_engine(bundle_dir: Path, options: EngineOptions) -> Engine:
    """Load a bundle.

    Args:
        bundle_dir: The directory of the bundle.
        options: How to run it.

    Raises:
        ManifestError: The bundle is not valid; names file, field, value and remedy.
        BackendError: The runtime is missing or cannot load a graph.
        CudaUnavailableError: TensorRT is to run it, and there is no GPU.
    """
    manifest = load_manifest(bundle_dir)
    if options.backend != "onnxruntime":
        from trt_engines.tensorrt.engine import TensorrtOptions, open_tensorrt_engine

        tensorrt = TensorrtOptions(options.backend, options.slot_count, options.plans_dir)
        return open_tensorrt_engine(bundle_dir, manifest, tensorrt)
    if importlib.util.find_spec("onnxruntime") is None:
        raise BackendError(
            f"{bundle_dir} needs ONNX Runtime, which is not installed. Install it: `pip install 'onnxruntime>=1.32'`."
        )
    # Only now: whoever reads manifests alone need not have the runtime.
    from trt_engines.onnx_runtime.engine import open_engine

    return open_engine(bundle_dir, manifest, options)
