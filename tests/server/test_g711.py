"""G.711 against the standard library's implementation, where Python still has it."""

import sys
import warnings

import numpy as np
import pytest

from server.g711 import alaw_from_pcm16, mulaw_from_pcm16

_ALL = np.arange(65536, dtype=np.uint16).view(np.int16)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="audioop left the standard library in 3.13")
def test_every_sample_equals_audioop() -> None:
    """All 65,536 samples become the bytes that audioop makes of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import audioop

    assert mulaw_from_pcm16(_ALL).tobytes() == audioop.lin2ulaw(_ALL.tobytes(), 2)
    assert alaw_from_pcm16(_ALL).tobytes() == audioop.lin2alaw(_ALL.tobytes(), 2)


def test_known_bytes() -> None:
    """Silence and full scale become the bytes the recommendation names."""
    samples = np.array([0, 32767, -32768], np.int16)

    assert mulaw_from_pcm16(samples).tolist() == [0xFF, 0x80, 0x00]
    assert alaw_from_pcm16(samples).tolist() == [0xD5, 0xAA, 0x2A]
