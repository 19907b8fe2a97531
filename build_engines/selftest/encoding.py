"""Does the encoder of reference audio give ONNX Runtime's codes, from the shortest audio to the longest?"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from build_engines.selftest.finding import Finding
from trt_engines.base import ReferenceEncoder
from trt_engines.manifest import ReferenceSpec

_LEAST_EQUAL_SHARE = 0.98


def encoding(ours: ReferenceEncoder, theirs: ReferenceEncoder, reference: ReferenceSpec) -> Iterator[Finding]:
    """Yield the share of equal numbers for the shortest audio, the longest, and an odd length between."""
    shortest_s, longest_s = reference.min_s, reference.max_s
    for seconds in (shortest_s, (2 * shortest_s + longest_s) / 3, longest_s):
        samples = _voice_like(int(seconds * reference.sample_rate_hz), reference.sample_rate_hz, shortest_s)
        made, expected = ours.encode(samples), theirs.encode(samples)
        share = float((made == expected).mean()) if made.shape == expected.shape else 0.0
        name = f"codes of {seconds:.3g} s of reference audio equal to ONNX Runtime's"
        yield Finding(name, share, limit=_LEAST_EQUAL_SHARE, bound="at least")


def _voice_like(sample_count: int, rate_hz: int, shortest_s: float) -> NDArray[np.float32]:
    """Return a gliding tone with overtones that swells and fades over noise, never shorter than is allowed."""
    count = max(sample_count, int(np.ceil(shortest_s * rate_hz)))
    seconds = np.arange(count) / rate_hz
    phase = 2 * np.pi * np.cumsum(140 + 40 * np.sin(2 * np.pi * 0.7 * seconds)) / rate_hz
    tone = sum(np.sin(order * phase) / order for order in range(1, 12))
    noise = np.random.default_rng(1).standard_normal(count)
    loudness = 0.5 + 0.5 * np.sin(2 * np.pi * 3 * seconds)
    samples: NDArray[np.float32] = (0.15 * loudness * tone + 0.01 * noise).astype(np.float32)
    return samples
