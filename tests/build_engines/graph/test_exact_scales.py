"""Scales of weights that were quantized before."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from build_engines.graph.exact_scales import exact_scales


@given(seed=st.integers(0, 999), largest=st.sampled_from([8, 127]), sign=st.sampled_from([-1, 1]))
def test_the_scale_of_stored_weights_is_found_to_the_last_bit(seed: int, largest: int, sign: int) -> None:
    """Dividing the largest weight of a block is rounded; the scale that was stored is found nevertheless."""
    random = np.random.default_rng(seed)
    stored = (random.uniform(1e-6, 3, 200) * sign).astype(np.float32)
    steps = random.integers(-largest + 1, largest, (200, 64)).astype(np.float32)
    steps[:, 5] = largest
    blocks = steps * stored[:, None]

    np.testing.assert_array_equal(stored, exact_scales(blocks, steps, blocks[:, 5] / np.float32(largest)))


def test_scales_of_other_weights_stay() -> None:
    """Where no neighbor fits, as in a network fresh from training, and where all is zero, nothing changes."""
    blocks = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    blocks[1] = 0
    scales = np.float32([0.02, 1e-40, 0.03])

    np.testing.assert_array_equal(scales, exact_scales(blocks, np.rint(blocks / scales[:, None]), scales))
