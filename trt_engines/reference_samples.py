"""What every encoder of reference audio asks of the samples."""

import numpy as np
from numpy.typing import NDArray

from trt_engines.errors import EngineError
from trt_engines.manifest import ReferenceSpec


def check_reference_samples(samples: NDArray[np.float32], reference: ReferenceSpec) -> None:
    """Check reference samples float32 [samples].

    Raises:
        EngineError: They are not one channel, too short, too long, or not finite.
    """
    rate_hz, shortest_s, longest_s = reference.sample_rate_hz, reference.min_s, reference.max_s
    if samples.ndim != 1 or not shortest_s <= len(samples) / rate_hz <= longest_s:
        raise EngineError(
            f"Reference audio of shape {samples.shape} was given; give one channel of {shortest_s:g} to "
            f"{longest_s:g} seconds at {rate_hz} Hz."
        )
    if not np.isfinite(samples).all():
        raise EngineError("Reference audio holds a sample that is not finite; give samples in [-1, 1].")
