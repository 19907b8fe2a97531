"""Numbers too small to be normal."""

import platform
import sys

import numpy as np
import pytest

from trt_engines.onnx_runtime.denormals import denormals_flushed


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="known on these machines only"
)
def test_denormals_are_zero_inside_and_numbers_outside() -> None:
    """The thread is left as it was."""
    tiny, small = np.float32(1e-30), np.float32(1e-10)
    with denormals_flushed():
        inside = tiny * small

    assert 0 == inside
    assert 0 < tiny * small


def test_normal_numbers_are_what_they_are() -> None:
    """Nothing else changes."""
    with denormals_flushed():
        inside = np.float32(1) / np.float32(3)

    assert np.float32(1) / np.float32(3) == inside
