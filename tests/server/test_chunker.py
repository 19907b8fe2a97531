"""Samples become chunks with true offsets, durations and word times, whatever the pieces they come in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from server.chunker import Chunker, SpokenWord
from server.prepared_segment import WordSpan
from server.utterance import AudioChunk, AudioEncoding, AudioFormat

RATE_HZ = 24_000
FRAME_SAMPLES = 1200


def make_chunker(encoding: AudioEncoding = AudioEncoding.PCM_F32LE, rate_hz: int = RATE_HZ) -> Chunker:
    """A chunker of 50 ms frames."""
    return Chunker(AudioFormat(encoding, rate_hz), RATE_HZ, FRAME_SAMPLES)


def tone(count: int, level: float = 0.5) -> NDArray[np.float32]:
    """Some samples one can hear."""
    return (level * np.sin(np.arange(count) * 0.1)).astype(np.float32)


def speak(chunker: Chunker, pieces: list[NDArray[np.float32]], index: int = 0) -> list[AudioChunk]:
    """Chunk one segment in pieces."""
    chunker.begin_segment()
    chunks = [chunker.chunk(piece, index, (), i == len(pieces) - 1) for i, piece in enumerate(pieces)]
    return [chunk for chunk in chunks if chunk]


def test_bytes_are_the_samples() -> None:
    """At the native rate in float the chunk holds the samples themselves."""
    samples = tone(FRAME_SAMPLES)
    (chunk,) = speak(make_chunker(), [samples])

    assert samples.tobytes() == chunk.audio
    assert (0.0, 0.05, 0) == (chunk.offset_s, chunk.duration_s, chunk.segment_index)


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("encoding", list(AudioEncoding))
@given(cuts=st.lists(st.integers(1, 12_000), max_size=5))
def test_bytes_do_not_depend_on_the_pieces(encoding: AudioEncoding, rate_hz: int, cuts: list[int]) -> None:
    """However a segment is cut, its bytes are those of the whole, and offsets add up."""
    samples = tone(12_000)
    whole = speak(make_chunker(encoding, rate_hz), [samples])
    pieces = speak(make_chunker(encoding, rate_hz), np.split(samples, sorted(cuts)))
    ends = np.cumsum([chunk.duration_s for chunk in pieces])

    assert b"".join(chunk.audio for chunk in whole) == b"".join(chunk.audio for chunk in pieces)
    assert pytest.approx([0.0, *ends[:-1]]) == [chunk.offset_s for chunk in pieces]
    assert pytest.approx(0.5, abs=1e-4) == ends[-1]


def test_a_segment_is_encoded_by_itself() -> None:
    """What was said before changes nothing but the offset."""
    first, second = tone(4000), tone(7000, 0.9)
    after = make_chunker(rate_hz=16_000)
    speak(after, [first])
    alone = speak(make_chunker(rate_hz=16_000), [second])
    following = speak(after, [second], 1)

    assert b"".join(chunk.audio for chunk in alone) == b"".join(chunk.audio for chunk in following)
    assert pytest.approx(4000 / RATE_HZ, abs=1e-4) == following[0].offset_s


def test_words_carry_their_time_in_the_utterance() -> None:
    """A word begins with its frame, counted from the first sample of the utterance."""
    chunker = make_chunker()
    speak(chunker, [tone(FRAME_SAMPLES * 4)])
    chunker.begin_segment()
    word = SpokenWord(WordSpan("hello", 0, 3, 4, 9), frame_index=2)
    chunk = chunker.chunk(tone(FRAME_SAMPLES * 3), 1, (word,), is_last=True)

    assert chunk
    assert pytest.approx(0.3) == chunk.words[0].start_s
    assert ("hello", 4, 9, 1) == (
        chunk.words[0].text,
        chunk.words[0].char_start,
        chunk.words[0].char_end,
        chunk.words[0].segment_index,
    )


def test_words_wait_for_the_first_bytes() -> None:
    """If the resampler keeps everything, its words go with the next chunk and are not lost."""
    chunker = make_chunker(rate_hz=8_000)
    chunker.begin_segment()
    word = SpokenWord(WordSpan("a", 0, 1, 0, 1), frame_index=0)
    nothing = chunker.chunk(tone(8), 0, (word,), is_last=False)
    chunk = chunker.chunk(tone(12_000), 0, (), is_last=True)

    assert nothing is None
    assert chunk
    assert ["a"] == [each.text for each in chunk.words]


def test_the_first_audible_sample_is_told_once() -> None:
    """Leading silence is no speech; the chunk that ends it says where."""
    chunker = make_chunker()
    silence = np.full(FRAME_SAMPLES, 0.009, np.float32)
    loud = np.concatenate([np.zeros(240, np.float32), np.full(960, -0.5, np.float32)])
    chunks = speak(chunker, [silence, loud, loud])

    assert [None, pytest.approx(0.06), None] == [chunk.audible_s for chunk in chunks]


def test_durations_are_kept_for_the_books() -> None:
    """After a segment its start and length are known, and the utterance's length so far."""
    chunker = make_chunker()
    speak(chunker, [tone(FRAME_SAMPLES * 2)])
    speak(chunker, [tone(FRAME_SAMPLES * 3)])

    assert pytest.approx((0.1, 0.15, 0.25)) == (chunker.segment_start_s, chunker.segment_s, chunker.duration_s)


@given(cuts=st.lists(st.integers(0, 3000), max_size=4), silent=st.integers(0, 2000))
def test_silence_before_the_first_sound_is_left_out(cuts: list[int], silent: int) -> None:
    """At most 45 ms of it, however the samples are cut; what sounds is never touched."""
    samples = np.concatenate([np.zeros(silent, np.float32), np.full(3000 - silent, 0.5, np.float32)])
    chunker = make_chunker()
    left = np.concatenate([chunker.without_lead_in(piece) for piece in np.split(samples, sorted(cuts))])

    assert samples[min(silent, 1080) :].tobytes() == left.tobytes()


def test_words_keep_to_the_audio_when_the_lead_in_is_left_out() -> None:
    """A word that begins 50 ms into the frames begins 5 ms into the audio, if 45 ms of it were left out."""
    chunker = make_chunker()
    chunker.begin_segment()
    samples = np.concatenate([np.zeros(FRAME_SAMPLES, np.float32), tone(FRAME_SAMPLES)])
    words = [SpokenWord(WordSpan("hi", 1, 3, 0, 2), 0), SpokenWord(WordSpan("you", 4, 6, 3, 6), 1)]
    chunk = chunker.chunk(chunker.without_lead_in(samples), 0, words, is_last=True)

    assert chunk is not None
    assert pytest.approx([0.0, 0.005]) == [word.start_s for word in chunk.words]
    assert pytest.approx(0.055) == chunk.duration_s
