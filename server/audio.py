"""Float samples to the bytes a caller asked for: sample rate, then encoding. No header, no fades.

Segments of the default voice begin and end in silence: the first and the last sample stay below 0.006 of full scale. So
nothing is faded where segments join; a fade would only soften the first sound.
"""

import numpy as np
import soxr
from numpy.typing import NDArray

from server.errors import OutOfRangeError
from server.g711 import alaw_from_pcm16, mulaw_from_pcm16
from server.utterance import AudioEncoding

MIN_SAMPLE_RATE_HZ = 8_000
MAX_SAMPLE_RATE_HZ = 48_000

Samples = NDArray[np.float32]


def check_sample_rate(sample_rate_hz: int) -> None:
    """Refuse a sample rate that the server does not make.

    Raises:
        OutOfRangeError: The rate lies outside 8000 to 48000 Hz.
    """
    if not MIN_SAMPLE_RATE_HZ <= sample_rate_hz <= MAX_SAMPLE_RATE_HZ:
        raise OutOfRangeError(
            f"The sample rate {sample_rate_hz} Hz lies outside {MIN_SAMPLE_RATE_HZ} to {MAX_SAMPLE_RATE_HZ} Hz; "
            "ask for one inside, or for 0 to get the voice's own rate.",
            "config.audio_format.sample_rate_hz",
        )


class AudioEncoder:
    """Encodes one run of samples, for example a segment, piece by piece.

    The bytes of all pieces together do not depend on where the pieces were cut, and hold exactly
    round(samples * target rate / source rate) samples.

    Args:
        encoding: What the bytes hold.
        source_rate_hz: Rate of the samples given.
        target_rate_hz: Rate of the samples encoded.
    """

    def __init__(self, encoding: AudioEncoding, source_rate_hz: int, target_rate_hz: int) -> None:
        self._encoding = encoding
        self._source_rate_hz, self._target_rate_hz = source_rate_hz, target_rate_hz
        self._source_count = 0
        self.sample_count = 0
        """Samples handed out so far, at the target rate."""
        self._resampler: soxr.ResampleStream | None = None
        if source_rate_hz != target_rate_hz:
            # Telephony hears nothing of the better filter, but hears its delay in the first chunk.
            quality = "MQ" if target_rate_hz < 16_000 else "HQ"
            self._resampler = soxr.ResampleStream(source_rate_hz, target_rate_hz, 1, quality=quality)

    def encode(self, samples: Samples) -> bytes:
        """Return the bytes that are certain after these samples.

        Args:
            samples: float32 [any number], finite; beyond -1 to 1 they are clipped, except in float encoding.
        """
        self._source_count += len(samples)
        if self._resampler is not None:
            samples = self._resampler.resample_chunk(np.ascontiguousarray(samples))
        return self._bytes(samples)

    def finish(self) -> bytes:
        """Return what the resampler held back; nothing may be encoded after it."""
        if self._resampler is None or self._source_count == 0:
            return b""
        rest = self._resampler.resample_chunk(np.zeros(0, np.float32), last=True)
        exact_count = (2 * self._source_count * self._target_rate_hz + self._source_rate_hz) // (
            2 * self._source_rate_hz
        )
        missing = max(exact_count - self.sample_count, 0)
        return self._bytes(np.pad(rest[:missing], (0, max(missing - len(rest), 0))))

    def _bytes(self, samples: Samples) -> bytes:
        self.sample_count += len(samples)
        if self._encoding is AudioEncoding.PCM_F32LE:
            return samples.astype("<f4").tobytes()
        pcm: NDArray[np.int16] = np.rint(np.clip(samples, -1.0, 1.0) * 32767.0).astype(np.int16)
        if self._encoding is AudioEncoding.MULAW:
            return mulaw_from_pcm16(pcm).tobytes()
        if self._encoding is AudioEncoding.ALAW:
            return alaw_from_pcm16(pcm).tobytes()
        return pcm.astype("<i2").tobytes()
