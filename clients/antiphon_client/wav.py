"""Writing a WAV file while its audio is still arriving."""

import struct
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from antiphon_client.options import Encoding

_FORMAT_TAGS = {Encoding.PCM_S16LE: 1, Encoding.FLOAT32: 3, Encoding.ALAW: 6, Encoding.MULAW: 7}
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
WAV_HEADER_BYTES = _HEADER.size


class WavWriter:
    """A mono WAV file that grows chunk by chunk; use it with `with`.

    Args:
        path: File to write; an existing one is replaced.
        sample_rate_hz: Samples per second.
        encoding: Form of the bytes given to `write`.
    """

    def __init__(self, path: str | Path, sample_rate_hz: int, encoding: Encoding = Encoding.PCM_S16LE) -> None:
        self._sample_rate_hz = sample_rate_hz
        self._encoding = encoding
        self._audio_bytes = 0
        self._file: BinaryIO = Path(path).open("wb")  # noqa: SIM115 - closed by close()
        self._file.write(self._header())

    def __enter__(self) -> "WavWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def duration_s(self) -> float:
        """Length of the audio written so far."""
        return self._audio_bytes / (self._sample_rate_hz * self._encoding.sample_bytes)

    def write(self, audio: bytes) -> None:
        """Appends a chunk."""
        self._file.write(audio)
        self._audio_bytes += len(audio)

    def close(self) -> None:
        """Writes the final lengths into the header and closes the file."""
        if not self._file.closed:
            self._file.seek(0)
            self._file.write(self._header())
            self._file.close()

    def _header(self) -> bytes:
        width = self._encoding.sample_bytes
        rate = self._sample_rate_hz
        return _HEADER.pack(
            b"RIFF", 36 + self._audio_bytes, b"WAVE",
            b"fmt ", 16, _FORMAT_TAGS[self._encoding], 1, rate, rate * width, width, 8 * width,
            b"data", self._audio_bytes,
        )  # fmt: skip
