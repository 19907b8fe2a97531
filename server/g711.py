"""G.711: 16-bit samples to one byte each, mu-law and A-law, by tables computed from the formulas of ITU-T G.711."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

_BIAS, _CLIP = 33, 8158  # of mu-law, in 14-bit steps


def mulaw_from_pcm16(samples: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Return int16 samples as mu-law bytes."""
    return _mulaw_table()[samples.view(np.uint16)]


def alaw_from_pcm16(samples: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Return int16 samples as A-law bytes."""
    return _alaw_table()[samples.view(np.uint16)]


@cache
def _mulaw_table() -> NDArray[np.uint8]:
    """Bytes by the bits of the sample: inverted sign, three bits of exponent, four of mantissa."""
    linear = _all_samples() >> 2
    magnitude = np.minimum(np.abs(linear), _CLIP) + _BIAS
    exponent = _bit_length(magnitude) - 6
    code = exponent << 4 | magnitude >> (exponent + 1) & 0xF
    table: NDArray[np.uint8] = (code ^ np.where(linear < 0, 0x7F, 0xFF)).astype(np.uint8)
    return table


@cache
def _alaw_table() -> NDArray[np.uint8]:
    """Bytes by the bits of the sample: as mu-law, but the first segment is linear and every second bit is inverted."""
    linear = _all_samples() >> 3
    magnitude = np.where(linear < 0, -linear - 1, linear)
    exponent = np.maximum(_bit_length(magnitude) - 5, 0)
    code = exponent << 4 | magnitude >> np.maximum(exponent, 1) & 0xF
    table: NDArray[np.uint8] = (code ^ np.where(linear < 0, 0x55, 0xD5)).astype(np.uint8)
    return table


def _all_samples() -> NDArray[np.int64]:
    return np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.int64)


def _bit_length(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.frexp(values)[1].astype(np.int64)
