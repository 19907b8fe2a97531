"""WAV files that grow."""

import wave
from pathlib import Path

import pytest
import soundfile

from antiphon_client.options import Encoding
from antiphon_client.wav import WAV_HEADER_BYTES, WavWriter


def test_a_file_holds_what_was_written(tmp_path: Path) -> None:
    """Chunks follow each other, and the header knows their length."""
    with WavWriter(tmp_path / "a.wav", 24000) as writer:
        writer.write(b"abcd")
        writer.write(b"ef")
        assert 3 / 24000 == writer.duration_s

    with wave.open(str(tmp_path / "a.wav")) as file:
        assert (1, 2, 24000, 3) == (
            file.getnchannels(),
            file.getsampwidth(),
            file.getframerate(),
            file.getnframes(),
        )
        assert b"abcdef" == file.readframes(3)
    assert b"abcdef" == (tmp_path / "a.wav").read_bytes()[WAV_HEADER_BYTES:]


@pytest.mark.parametrize(
    ("encoding", "subtype"),
    [(Encoding.FLOAT32, "FLOAT"), (Encoding.MULAW, "ULAW"), (Encoding.ALAW, "ALAW"), (Encoding.PCM_S16LE, "PCM_16")],
)
def test_every_encoding_has_its_format(tmp_path: Path, encoding: Encoding, subtype: str) -> None:
    """An independent reader recognizes each encoding and counts the same samples."""
    with WavWriter(tmp_path / "a.wav", 8000, encoding) as writer:
        writer.write(bytes(16 * encoding.sample_bytes))
    info = soundfile.info(tmp_path / "a.wav")

    assert (subtype, 8000, 16) == (info.subtype, info.samplerate, info.frames)


def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    """No audio at all leaves a readable file of no length."""
    with WavWriter(tmp_path / "a.wav", 8000):
        pass

    assert 0 == soundfile.info(tmp_path / "a.wav").frames
