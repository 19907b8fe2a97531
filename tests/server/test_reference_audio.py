"""Recordings of every kind become the same samples, and what cannot become a voice is refused with the reason."""

import io

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from server.errors import InvalidRequestError
from server.reference_audio import ReferenceLimits, reference_samples
from server.utterance import AudioEncoding, AudioFormat

LIMITS = ReferenceLimits(44_100, 1.0, 4.0)
PCM = AudioFormat()


def _tone(rate_hz: int, length_s: float = 2.0, level: float = 0.3) -> NDArray[np.float32]:
    time_s = np.arange(round(rate_hz * length_s)) / rate_hz
    return (level * np.sin(2 * np.pi * 220 * time_s)).astype(np.float32)


def _file(samples: NDArray[np.float32], rate_hz: int, kind: str) -> bytes:
    written = io.BytesIO()
    soundfile.write(written, samples, rate_hz, format=kind, subtype="VORBIS" if kind == "OGG" else None)
    return written.getvalue()


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
@pytest.mark.parametrize("rate_hz", [16_000, 44_100, 48_000])
def test_files_become_one_channel_at_the_encoders_rate(kind: str, rate_hz: int) -> None:
    """A stereo file of any kind and rate gives the mean of its channels, resampled."""
    tone = _tone(rate_hz)
    samples = reference_samples(_file(np.stack([tone, 0.5 * tone], 1), rate_hz, kind), PCM, LIMITS)
    expected = 0.75 * _tone(44_100)
    assert samples.dtype == np.float32
    assert abs(len(samples) - len(expected)) <= 4000  # mp3 pads
    middle = slice(20_000, 60_000)
    best = max(np.corrcoef(samples[middle], np.roll(expected, shift)[middle])[0, 1] for shift in range(-1300, 1300, 20))
    assert best > 0.99
    assert np.abs(samples[middle]).max() == pytest.approx(0.225, abs=0.02)


def test_headerless_samples_are_read_as_stated() -> None:
    """16-bit integers and floats give the same, at the stated rate or the encoder's own."""
    tone = _tone(44_100)
    floats = AudioFormat(AudioEncoding.PCM_F32LE)
    np.testing.assert_array_equal(reference_samples(tone.astype("<f4").tobytes(), floats, LIMITS), tone)
    integers = np.rint(tone * 32768).astype("<i2").tobytes()
    np.testing.assert_allclose(reference_samples(integers, PCM, LIMITS), tone, atol=2e-5)
    slow = np.rint(_tone(8000) * 32768).astype("<i2").tobytes()
    assert len(reference_samples(slow, AudioFormat(sample_rate_hz=8000), LIMITS)) == len(tone)


def _pcm(samples: NDArray[np.float32]) -> bytes:
    return np.clip(np.rint(samples * 32767), -32768, 32767).astype("<i2").tobytes()


@pytest.mark.parametrize(
    ("content", "stated", "fault"),
    [
        (b"", PCM, r"lasts 0\.0 s; a voice takes 1 to 4 s"),
        (_pcm(_tone(44_100, 0.9)), PCM, r"lasts 0\.9 s"),
        (_pcm(_tone(44_100, 4.1)), PCM, r"lasts 4\.1 s"),
        (_file(_tone(16_000, 30.0), 16_000, "FLAC"), PCM, r"lasts 30\.0 s"),
        (_pcm(_tone(44_100, level=0.001)), PCM, "is silent: its level is -63 dB"),
        (bytes(2 * 88_200), PCM, "is silent"),
        (_pcm(_tone(44_100, level=3.0)), PCM, r"is clipped: \d\d% of its samples"),
        (b"x" * 100_001, PCM, "no whole number of 2-byte samples"),
        (b"RIFF" + bytes(100), PCM, "begins like a wav, flac, ogg or mp3 file but cannot be read"),
        (_file(_tone(16_000), 16_000, "FLAC")[:40], PCM, "cannot be read|lasts"),
        (b"x" * 88_200, AudioFormat(AudioEncoding.MULAW), "too coarse to make a voice of"),
        (_file(_tone(4000), 4000, "WAV"), PCM, "has 4000 samples per second; at least 8000"),
        (np.full(88_200, np.nan, "<f4").tobytes(), AudioFormat(AudioEncoding.PCM_F32LE), "are not numbers"),
    ],
)
def test_what_cannot_become_a_voice_is_refused(content: bytes, stated: AudioFormat, fault: str) -> None:
    """Too short, too long, silent, clipped, torn or no audio at all: the sentence says which."""
    with pytest.raises(InvalidRequestError, match=fault) as caught:
        reference_samples(content, stated, LIMITS)
    assert caught.value.field == "audio"
