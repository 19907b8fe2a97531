"""A recording that somebody sent to make a voice of -> samples for the encoder, or a sentence that says what is wrong.

Files (wav, flac, ogg, mp3) are known by their first bytes; anything else is headerless, in the format that was stated.
Channels are averaged, as the original does, and any rate is resampled.
"""

import io
from dataclasses import dataclass

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from server.errors import InvalidConfigError, OutOfRangeError
from server.utterance import AudioEncoding, AudioFormat

Samples = NDArray[np.float32]

_FIELD = "audio"
_FILE_STARTS = (b"RIFF", b"RF64", b"fLaC", b"OggS", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa")
_SILENT_RMS = 10.0 ** (-50 / 20)
_CLIPPED_LEVEL = 0.999
_CLIPPED_SHARE = 0.01
_LEAST_RATE_HZ = 8_000


@dataclass(frozen=True, slots=True)
class ReferenceLimits:
    """What the encoder takes: its rate, and how long a recording may be."""

    sample_rate_hz: int
    min_s: float
    max_s: float


def reference_samples(content: bytes, stated: AudioFormat, limits: ReferenceLimits) -> Samples:
    """Return a recording as float32 samples of one channel at the encoder's rate.

    Args:
        content: The bytes, of a file or headerless.
        stated: Format of headerless bytes; a rate of 0 is the encoder's own.
        limits: What the encoder takes.

    Raises:
        InvalidConfigError: It is not audio, silent, or clipped.
        OutOfRangeError: It is too short, too long, or of too low a rate.
    """
    if content.startswith(_FILE_STARTS):
        samples, rate_hz = _from_file(content, limits)
    else:
        rate_hz = stated.sample_rate_hz or limits.sample_rate_hz
        samples = _from_headerless(content, stated.encoding)
    _check_length(len(samples) / rate_hz, limits)
    if rate_hz < _LEAST_RATE_HZ:
        raise OutOfRangeError(
            f"The recording has {rate_hz} samples per second; at least {_LEAST_RATE_HZ} are needed.", _FIELD
        )
    _check_sound(samples)
    mono: Samples = samples.mean(1, dtype=np.float32)
    if rate_hz == limits.sample_rate_hz:
        return mono
    resampled: Samples = soxr.resample(mono, rate_hz, limits.sample_rate_hz, "VHQ")
    return resampled[: round(limits.max_s * limits.sample_rate_hz)]


def _from_file(content: bytes, limits: ReferenceLimits) -> tuple[Samples, int]:
    """Return samples [count, channels] and their rate."""
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            _check_length(file.frames / file.samplerate, limits)  # before anything is unpacked
            samples: Samples = file.read(dtype="float32", always_2d=True)
            return samples, file.samplerate
    except soundfile.LibsndfileError as error:
        raise InvalidConfigError(
            f"The recording begins like a wav, flac, ogg or mp3 file but cannot be read: {error.error_string} "
            "Send the whole file, or headerless samples.",
            _FIELD,
        ) from error


def _from_headerless(content: bytes, encoding: AudioEncoding) -> Samples:
    """Return samples [count, 1]."""
    kinds = {AudioEncoding.PCM_S16LE: ("<i2", 1 / 32768), AudioEncoding.PCM_F32LE: ("<f4", 1.0)}
    if encoding not in kinds:
        raise InvalidConfigError(
            f"Headerless recordings in {encoding.value} are too coarse to make a voice of; send 16-bit PCM, floats, or "
            "a wav, flac, ogg or mp3 file.",
            _FIELD,
        )
    kind, scale = kinds[encoding]
    size_bytes = np.dtype(kind).itemsize
    if len(content) % size_bytes:
        raise InvalidConfigError(
            f"The recording has {len(content)} bytes, no whole number of {size_bytes}-byte samples; it is not in the "
            "stated format, or not complete.",
            _FIELD,
        )
    return (np.frombuffer(content, kind).astype(np.float32) * np.float32(scale))[:, None]


def _check_length(length_s: float, limits: ReferenceLimits) -> None:
    if not limits.min_s <= length_s <= limits.max_s:
        raise OutOfRangeError(
            f"The recording lasts {length_s:.1f} s; a voice takes {limits.min_s:g} to {limits.max_s:g} s, of which 10 "
            "to 30 s of steady speech are best.",
            _FIELD,
        )


def _check_sound(samples: Samples) -> None:
    if not np.isfinite(samples).all():
        raise InvalidConfigError("The recording holds samples that are not numbers; record it again.", _FIELD)
    level = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))
    if level < _SILENT_RMS:
        raise InvalidConfigError(
            f"The recording is silent: its level is {20 * np.log10(level + 1e-9):.0f} dB, and speech lies above "
            f"{20 * np.log10(_SILENT_RMS):.0f} dB. Check the microphone, or the stated format.",
            _FIELD,
        )
    clipped = float(np.mean(np.abs(samples) >= _CLIPPED_LEVEL))
    if clipped > _CLIPPED_SHARE:
        raise InvalidConfigError(
            f"The recording is clipped: {clipped:.0%} of its samples are at full scale. Record it at a lower level; if "
            "it was headerless, check the stated format.",
            _FIELD,
        )
