"""The encoder of reference audio on ONNX Runtime: the fourth operation of a bundle that clones voices."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from trt_engines.errors import BackendError
from trt_engines.graph_tensors import reference_tensors
from trt_engines.manifest import Manifest, ReferenceSpec
from trt_engines.onnx_runtime.denormals import denormals_flushed
from trt_engines.onnx_runtime.ort_errors import ORT_ERRORS
from trt_engines.onnx_runtime.session import open_session
from trt_engines.reference_samples import check_reference_samples


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
        check_reference_samples(samples, self._reference)
        try:
            with denormals_flushed():
                frames: NDArray[Any] = self._session.run(["frames"], {"samples": samples[None]})[0][0]
        except ORT_ERRORS as error:
            raise BackendError(
                f"ONNX Runtime {ort.__version__} failed on {len(samples)} reference samples: {error}"
            ) from error
        return frames
