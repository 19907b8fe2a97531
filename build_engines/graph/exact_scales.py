"""Finding the scale that quantized weights were made with, so that quantizing them once more changes no bit."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def exact_scales(blocks: Floats, steps: Floats, scales: Floats) -> Floats:
    """Return scales float32 [...] of which the blocks are exact multiples, where a neighbor of the given ones is such.

    A scale is found by dividing the largest weight of a block, which is rounded: of weights that a graph has stored,
    the scale found may be the next number to the one stored.

    Args:
        blocks: float32 [..., block], the weights.
        steps: float32 [..., block], whole numbers: the weights in units of the scale.
        scales: float32 [...], the scales found.
    """
    near = [scales, np.nextafter(scales, np.float32(0)), np.nextafter(scales, np.copysign(np.float32(np.inf), scales))]
    return np.select([(steps * scale[..., None] == blocks).all(-1) for scale in near], near, scales)
