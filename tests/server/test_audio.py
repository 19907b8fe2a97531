"""Samples to bytes: encodings, sample rates, pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from server.audio import AudioEncoder, check_sample_rate
from server.errors import OutOfRangeError
from server.g711 import alaw_from_pcm16, mulaw_from_pcm16
from server.utterance import AudioEncoding

_RATES = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]
_BYTES_PER_SAMPLE = {
    AudioEncoding.PCM_S16LE: 2,
    AudioEncoding.PCM_F32LE: 4,
    AudioEncoding.MULAW: 1,
    AudioEncoding.ALAW: 1,
}


def tone(count: int, frequency_hz: float = 440.0, rate_hz: int = 24_000) -> NDArray[np.float32]:
    """Return a sine at half of full scale."""
    return (0.5 * np.sin(2 * np.pi * frequency_hz * np.arange(count) / rate_hz)).astype(np.float32)


def encode(samples: NDArray[np.float32], encoding: AudioEncoding, rate_hz: int, cuts: list[int]) -> bytes:
    """Encode in pieces that end at `cuts`."""
    encoder = AudioEncoder(encoding, 24_000, rate_hz)
    audio = b"".join(encoder.encode(piece) for piece in np.split(samples, cuts)) + encoder.finish()
    assert encoder.sample_count * _BYTES_PER_SAMPLE[encoding] == len(audio)
    return audio


def test_pcm16_scales_rounds_and_clips() -> None:
    """Full scale is 32767 on both sides; what is beyond it is clipped, not wrapped."""
    samples = np.array([0.0, 1.0, -1.0, 0.5, 1.7, -9.0, 1e-9], np.float32)

    audio = AudioEncoder(AudioEncoding.PCM_S16LE, 24_000, 24_000).encode(samples)

    assert np.frombuffer(audio, "<i2").tolist() == [0, 32767, -32767, 16384, 32767, -32767, 0]


def test_float_is_untouched() -> None:
    """Float encoding hands out the very samples."""
    samples = np.array([0.1, -1.5, 1e-30], np.float32)

    assert AudioEncoder(AudioEncoding.PCM_F32LE, 24_000, 24_000).encode(samples) == samples.astype("<f4").tobytes()


def test_g711_is_made_of_pcm16() -> None:
    """The telephone encodings go by the 16-bit samples."""
    samples = tone(400)
    pcm = np.frombuffer(encode(samples, AudioEncoding.PCM_S16LE, 8_000, []), "<i2").astype(np.int16)

    assert encode(samples, AudioEncoding.MULAW, 8_000, []) == mulaw_from_pcm16(pcm).tobytes()
    assert encode(samples, AudioEncoding.ALAW, 8_000, []) == alaw_from_pcm16(pcm).tobytes()


@given(
    st.integers(0, 9_000),
    st.sampled_from(_RATES),
    st.sampled_from(list(AudioEncoding)),
    st.lists(st.integers(0, 9_000), max_size=8).map(sorted),
)
def test_pieces_do_not_matter(count: int, rate_hz: int, encoding: AudioEncoding, cuts: list[int]) -> None:
    """Any pieces, odd and empty ones too, give the same bytes, of exactly the right length."""
    samples = tone(count)

    whole = encode(samples, encoding, rate_hz, [])

    assert encode(samples, encoding, rate_hz, cuts) == whole
    assert len(whole) == int(count * rate_hz / 24_000 + 0.5) * _BYTES_PER_SAMPLE[encoding]


@pytest.mark.parametrize("rate_hz", _RATES)
def test_resampled_tone_is_the_tone(rate_hz: int) -> None:
    """A tone keeps its pitch, level and time at every rate."""
    audio = np.frombuffer(encode(tone(24_000), AudioEncoding.PCM_F32LE, rate_hz, [1_200]), "<f4")

    middle = slice(rate_hz // 4, -rate_hz // 4)
    assert np.abs(audio - tone(rate_hz, rate_hz=rate_hz))[middle].max() < 1e-4


def test_telephone_hears_no_alias() -> None:
    """What 8000 Hz cannot carry is gone, not folded down."""
    audio = np.frombuffer(encode(tone(24_000, 5_500), AudioEncoding.PCM_F32LE, 8_000, []), "<f4")

    assert np.abs(audio[1_000:-1_000]).max() < 1e-4


@pytest.mark.parametrize(("rate_hz", "held_ms"), [(8_000, 40), (16_000, 10), (48_000, 35), (24_000, 0)])
def test_little_of_the_first_chunk_is_held_back(rate_hz: int, held_ms: int) -> None:
    """Of a first chunk of 100 ms the resampler keeps little to itself."""
    encoder = AudioEncoder(AudioEncoding.PCM_S16LE, 24_000, rate_hz)
    encoder.encode(tone(2_400))

    assert encoder.sample_count / rate_hz * 1_000 >= 100 - held_ms


def test_nothing_in_nothing_out() -> None:
    """Without samples there is no tail of the resampler either."""
    assert AudioEncoder(AudioEncoding.PCM_S16LE, 24_000, 8_000).finish() == b""


@pytest.mark.parametrize("rate_hz", [-1, 0, 7_999, 48_001, 2**31 - 1])
def test_rates_outside_are_refused(rate_hz: int) -> None:
    """A rate the server does not make is refused by a sentence with the value and the limits."""
    with pytest.raises(OutOfRangeError, match=f"{rate_hz} Hz lies outside 8000 to 48000 Hz") as error:
        check_sample_rate(rate_hz)

    assert error.value.field == "config.audio_format.sample_rate_hz"


@pytest.mark.parametrize("rate_hz", [8_000, 44_100, 48_000])
def test_rates_inside_pass(rate_hz: int) -> None:
    """The limits themselves are inside."""
    check_sample_rate(rate_hz)
