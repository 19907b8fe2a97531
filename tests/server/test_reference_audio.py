"""Recordings of every kind become the same samples, and what cannot become a voice is refused with the reason."""

import contextlib
import io

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
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


def _breath(rate_hz: int) -> NDArray[np.float32]:
    """A tone that is not pure, as no recording is."""
    noise = 0.01 * np.random.default_rng(1).standard_normal(2 * rate_hz)
    return (_tone(rate_hz) + noise).astype(np.float32)


def _stereo(left: float, right: float) -> NDArray[np.float32]:
    return np.stack([np.float32(left) * _tone(44_100), np.float32(right) * _tone(44_100)], 1)


def _changed(content: bytes, place: int, by: bytes) -> bytes:
    return content[:place] + by + content[place + len(by) :]


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
        (b"\x80" * 100_001, PCM, "no whole number of 2-byte samples"),
        (
            b"RIFF" + bytes(100),
            PCM,
            "begins like a file of kind WAV but cannot be read: it is damaged",
        ),
        (_file(_tone(16_000), 16_000, "FLAC")[:40], PCM, "of kind FLAC but cannot be read"),
        (b"\x80" * 88_200, AudioFormat(AudioEncoding.MULAW), "too coarse to make a voice of"),
        (_file(_tone(4000), 4000, "WAV"), PCM, "has 4000 samples per second; from 8000 to 192000 are taken"),
        (_pcm(_tone(4000)), AudioFormat(sample_rate_hz=4000), "has 4000 samples per second"),
        (_pcm(_tone(8000)), AudioFormat(sample_rate_hz=-8000), "has -8000 samples per second"),
        (_file(_stereo(1.0, -1.0), 44_100, "WAV"), PCM, "two channels must not cancel each other"),
        (_pcm(_tone(44_100, level=0.001) + np.float32(0.4)), PCM, "is silent: its level is -63 dB"),
        (_file(np.stack([_tone(44_100)] * 8, 1), 44_100, "WAV"), PCM, "has 8 channels; send one or two"),
        (_changed(_file(_tone(44_100), 44_100, "WAV"), 24, b"\xff\xff\xff\x7f"), PCM, "has 2147483647 samples per s"),
        (_changed(_file(_tone(44_100), 44_100, "WAV"), 40, b"\x00\x00\x00\x70"), PCM, "of kind WAV but cannot be read"),
        (_changed(_file(_tone(44_100), 44_100, "FLAC"), 22, b"\xff\xff\xff\xff"), PCM, r"lasts 9\d{4}\.\d s"),
        (_changed(_file(_tone(44_100), 44_100, "FLAC"), 22, bytes(4)), PCM, "does not say how long it is"),
        (np.random.default_rng(1).bytes(200_000), PCM, "is noise, not speech"),
        (np.frombuffer(_pcm(_breath(44_100)), "<i2").byteswap().tobytes(), PCM, "is noise, not speech"),
        (b"The words, not the sound. " * 8000, PCM, "is text; send the audio itself"),
        (b'{"audio": "UklGRg=="}\n' * 8000, AudioFormat(AudioEncoding.MULAW), "is text; send the audio itself"),
        (b"\0\0\0\x20ftypM4A " + bytes(200_000), PCM, "begins like an MP4 or M4A file; send a wav"),
        (_file(_tone(44_100), 44_100, "AIFF"), PCM, "begins like an AIFF file"),
        (np.full(88_200, np.nan, "<f4").tobytes(), AudioFormat(AudioEncoding.PCM_F32LE), "are not numbers"),
    ],
)
def test_what_cannot_become_a_voice_is_refused(content: bytes, stated: AudioFormat, fault: str) -> None:
    """Too short, too long, silent, clipped, torn or no audio at all: the sentence says which."""
    with pytest.raises(InvalidRequestError, match=fault) as caught:
        reference_samples(content, stated, LIMITS)
    assert caught.value.field == "audio"


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
@pytest.mark.parametrize("share", [0.95, 0.7, 0.1])
def test_a_file_that_is_cut_off_is_refused(kind: str, share: float) -> None:
    """Decoders make do with what is there, but the transcript tells of more."""
    content = _file(_tone(44_100, 3.5), 44_100, kind)
    with pytest.raises(InvalidRequestError, match="cannot be read: it is damaged, or not complete"):
        reference_samples(content[: int(share * len(content))], PCM, LIMITS)


def test_a_page_that_is_missing_is_noticed() -> None:
    """A file that lost some of its middle is no whole recording."""
    content = _file(_breath(44_100), 44_100, "OGG")
    middle = len(content) // 2
    with pytest.raises(InvalidRequestError, match="of kind Ogg but cannot be read"):
        reference_samples(content[:middle] + content[middle + 2000 :], PCM, LIMITS)


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 12_345, 44_056, 96_000, 191_999])
def test_odd_rates_are_resampled(rate_hz: int) -> None:
    """Any rate from 8 to 192 kHz gives the same tone at the encoder's."""
    samples = reference_samples(_file(_tone(rate_hz), rate_hz, "WAV"), PCM, LIMITS)
    assert abs(len(samples) - 88_200) <= 1
    assert np.abs(samples[4000:80_000] - _tone(44_100)[4000:80_000]).max() < 2e-3


def test_a_wav_header_may_not_know_its_length() -> None:
    """Programs that write into a pipe put the largest number there; the samples that came are all there are."""
    content = _file(_tone(44_100), 44_100, "WAV")
    piped = _changed(_changed(content, 4, b"\xff\xff\xff\xff"), 40, b"\xff\xff\xff\xff")
    np.testing.assert_array_equal(reference_samples(piped, PCM, LIMITS), reference_samples(content, PCM, LIMITS))


def test_samples_may_begin_like_an_mp3_frame() -> None:
    """Two bytes are no proof of a file: what follows them decides."""
    content = b"\xff\xfb" + _pcm(_tone(44_100))[2:]
    assert len(reference_samples(content, PCM, LIMITS)) == 88_200


_FILES = [_file(_tone(16_000, 1.2), 16_000, kind) for kind in ("WAV", "FLAC", "OGG", "MP3")]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(_FILES), st.lists(st.tuples(st.integers(0, 500), st.binary(min_size=1, max_size=8)), max_size=4))
def test_no_header_breaks_the_server(content: bytes, changes: list[tuple[int, bytes]]) -> None:
    """Whatever a file claims, it becomes samples of the right length or is refused with a sentence."""
    for place, by in changes:
        content = _changed(content, place, by)
    with contextlib.suppress(InvalidRequestError):
        assert 44_100 <= len(reference_samples(content, PCM, LIMITS)) <= 4 * 44_100
