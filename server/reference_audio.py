"""A recording that somebody sent to make a voice of -> samples for the encoder, or a sentence that says what is wrong.

Files are known by their first bytes; anything else is headerless, in the format that was stated. Channels are averaged,
as the original does, and any rate is resampled.
"""

from dataclasses import dataclass

import numpy as np
import soxr
from numpy.typing import NDArray

from server.errors import InvalidConfigError, OutOfRangeError
from server.recording_file import AUDIO_FIELD, Decoded, check_rate, decode, file_kind
from server.utterance import AudioEncoding, AudioFormat

Samples = NDArray[np.float32]

_SILENT_RMS = 10.0 ** (-50 / 20)
_CLIPPED_LEVEL = 0.999
_CLIPPED_SHARE = 0.01
_NOISE_CORRELATION = 0.1
"""Neighboring samples of speech are alike (0.7 and more); those of bytes that are something else are not."""
_FOREIGN = ((4, b"ftyp", "an MP4 or M4A"), (0, b"\x1a\x45\xdf\xa3", "a WebM"), (0, b"FORM", "an AIFF"))


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
        InvalidConfigError: It is not audio, not complete, silent, or clipped.
        OutOfRangeError: It is too short, too long, or of a rate that is not taken.
    """
    kind = file_kind(content)
    recording = decode(content, kind, limits.max_s) if kind else _headerless(content, stated, limits)
    _check_length(len(recording.samples) / recording.rate_hz, limits)
    mono: Samples = recording.samples.mean(1, dtype=np.float32)
    _check_sound(recording.samples, mono)
    if recording.rate_hz == limits.sample_rate_hz:
        return mono
    resampled: Samples = soxr.resample(mono, recording.rate_hz, limits.sample_rate_hz, "VHQ")
    return resampled[: round(limits.max_s * limits.sample_rate_hz)]


def _headerless(content: bytes, stated: AudioFormat, limits: ReferenceLimits) -> Decoded:
    kinds = {AudioEncoding.PCM_S16LE: ("<i2", 1 / 32768), AudioEncoding.PCM_F32LE: ("<f4", 1.0)}
    _check_foreign(content)
    if stated.encoding not in kinds:
        raise InvalidConfigError(
            f"Headerless recordings in {stated.encoding.value} are too coarse to make a voice of; send 16-bit PCM, "
            "floats, or a wav, flac, ogg or mp3 file.",
            AUDIO_FIELD,
        )
    kind, scale = kinds[stated.encoding]
    size_bytes = np.dtype(kind).itemsize
    if len(content) % size_bytes:
        raise InvalidConfigError(
            f"The recording has {len(content)} bytes, no whole number of {size_bytes}-byte samples; it is not in the "
            "stated format, or not complete.",
            AUDIO_FIELD,
        )
    rate_hz = stated.sample_rate_hz or limits.sample_rate_hz
    check_rate(rate_hz)
    return Decoded((np.frombuffer(content, kind).astype(np.float32) * np.float32(scale))[:, None], rate_hz)


def _check_foreign(content: bytes) -> None:
    """Refuse what begins like something that people take for a recording."""
    for place, mark, name in _FOREIGN:
        if content.startswith(mark, place):
            raise InvalidConfigError(
                f"The recording begins like {name} file; send a wav, flac, ogg or mp3 file.", AUDIO_FIELD
            )
    head = content[:1024]
    if len(head) > 64 and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head):
        raise InvalidConfigError("The recording is text; send the audio itself, as bytes.", AUDIO_FIELD)


def _check_length(length_s: float, limits: ReferenceLimits) -> None:
    if not limits.min_s <= length_s <= limits.max_s:
        raise OutOfRangeError(
            f"The recording lasts {length_s:.1f} s; a voice takes {limits.min_s:g} to {limits.max_s:g} s, of which 10 "
            "to 30 s of steady speech are best.",
            AUDIO_FIELD,
        )


def _check_sound(samples: Samples, mono: Samples) -> None:
    if not np.isfinite(samples).all():
        raise InvalidConfigError("The recording holds samples that are not numbers; record it again.", AUDIO_FIELD)
    clipped = float(np.mean(np.abs(samples) >= _CLIPPED_LEVEL))
    if clipped > _CLIPPED_SHARE:
        raise InvalidConfigError(
            f"The recording is clipped: {clipped:.0%} of its samples are at full scale. Record it at a lower level; if "
            "it was headerless, check the stated format.",
            AUDIO_FIELD,
        )
    wave = mono.astype(np.float64)
    wave -= wave.mean()  # a microphone's offset is no sound
    energy = float(wave @ wave)
    level = np.sqrt(energy / len(wave))
    if level < _SILENT_RMS:
        raise InvalidConfigError(
            f"The recording is silent: its level is {20 * np.log10(level + 1e-9):.0f} dB, and speech lies above "
            f"{20 * np.log10(_SILENT_RMS):.0f} dB. Check the microphone, or the stated format; two channels must not "
            "cancel each other.",
            AUDIO_FIELD,
        )
    if float(wave[1:] @ wave[:-1]) < _NOISE_CORRELATION * energy:
        raise InvalidConfigError(
            "The recording is noise, not speech: its samples have nothing to do with each other. If it was headerless, "
            "check the stated format; if it is a file, send a wav, flac, ogg or mp3 file.",
            AUDIO_FIELD,
        )
