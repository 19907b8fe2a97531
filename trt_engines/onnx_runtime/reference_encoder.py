"""The encoder of reference audio on ONNX Runtime: the fourth operation of a bundle that clones voices."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from trt_engines.errors import BackendError, EngineError
from trt_engines.graph_tensors import reference_tensors
from trt_engines.manifest import Manifest, ReferenceSpec
from trt_engines.onnx_runtime.denormals import denormals_flushed
from trt_engines.onnx_runtime.ort_errors import ORT_ERRORS
from trt_engines.onnx_runtime.session import open_session


class OrtReferenceEncoder:
    """A `ReferenceEncoder`; see there."""

    def __init__(self, bundle_dir: Path, manifest: Manifest, reference: ReferenceSpec) -> None:
        self._reference = reference
        self._session = open_session(bundle_dir, reference.graph, manifest, reference_tensors)

    def encode(self, samples: NDArray[np.float32]) -> NDArray[Any]:
        """Return the frames of reference samples.

        Raises:
            EngineError: The samples are not one channel, too short, too long, or not finite.
            BackendError: ONNX Runtime failed.
        """
        rate_hz, shortest_s, longest_s = self._reference.sample_rate_hz, self._reference.min_s, self._reference.max_s
        if samples.ndim != 1 or not shortest_s <= len(samples) / rate_hz <= longest_s:
            raise EngineError(
                f"Reference audio of shape {samples.shape} was given; give one channel of {shortest_s:g} to "
                f"{longest_s:g} seconds at {rate_hz} Hz."
            )
        if not np.isfinite(samples).all():
            raise EngineError("Reference audio holds a sample that is not finite; give samples in [-1, 1].")
        try:
            with denormals_flushed():
                frames: NDArray[Any] = self._session.run(["frames"], {"samples": samples[None]})[0][0]
        except ORT_ERRORS as error:
            raise BackendError(
                f"ONNX Runtime {ort.__version__} failed on {len(samples)} reference samples: {error}"
            ) from error
        return frames
