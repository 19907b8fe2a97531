"""Plays speech on the machine's own audio device while it arrives. Needs the extra `audio` (sounddevice)."""

import asyncio
import importlib.util
import threading
from collections.abc import Callable
from typing import Protocol

from antiphon_client.errors import AntiphonError

_SAMPLE_BYTES = 2
_DEVICE_LATENCY_S = 0.1


class PlaybackError(AntiphonError):
    """There is no way to play sound on this machine; the message says what is missing."""


class OutputStream(Protocol):
    """What is used of an audio device's stream."""

    def start(self) -> None:
        """Begins to call back for audio."""

    def close(self) -> None:
        """Stops at once."""


Callback = Callable[[bytearray | memoryview, int, object, object], None]
OpenStream = Callable[[int, Callback], OutputStream]


class Player:
    """Plays 16-bit mono PCM; what is not yet there is silence. Any thread may call it.

    Args:
        sample_rate_hz: Samples per second of what will be played.
        open_stream: Opens the device; None opens the default one.

    Attributes:
        gap_count: Times the speech stood still because its next chunk was late.
        gap_s: How long it stood still in all.

    Raises:
        PlaybackError: There is no audio device, or the library for it is missing.
    """

    def __init__(self, sample_rate_hz: int, open_stream: OpenStream | None = None) -> None:
        self.gap_count = 0
        self.gap_s = 0.0
        self._rate_hz = sample_rate_hz
        self._lock = threading.Lock()
        self._audio = bytearray()
        self._is_expecting = False
        self._is_in_gap = False
        self._stream = (open_stream or _open_default_device)(sample_rate_hz, self._fill)
        self._stream.start()

    def write(self, audio: bytes) -> None:
        """Takes a chunk; more are expected until `end`."""
        with self._lock:
            self._audio += audio
            self._is_expecting = True
            self._is_in_gap = False

    def end(self) -> None:
        """Says that nothing more comes for now, so that silence is no gap."""
        with self._lock:
            self._is_expecting = False

    def clear(self) -> float:
        """Drops what was not played yet; returns its length in seconds."""
        with self._lock:
            dropped_s = self.waiting_s
            self._audio.clear()
            self._is_expecting = False
            return dropped_s

    @property
    def waiting_s(self) -> float:
        """Length of what was not played yet."""
        return len(self._audio) / (_SAMPLE_BYTES * self._rate_hz)

    async def drain(self) -> None:
        """Waits until everything was played."""
        await asyncio.sleep(self.waiting_s + _DEVICE_LATENCY_S)

    def close(self) -> None:
        """Stops at once and gives the device back."""
        self._stream.close()

    def _fill(self, out: bytearray | memoryview, frame_count: int, time: object, status: object) -> None:
        """Called by the device, in its own thread, for the next samples."""
        wanted = frame_count * _SAMPLE_BYTES
        with self._lock:
            audio = bytes(self._audio[:wanted])
            del self._audio[:wanted]
            if len(audio) < wanted and self._is_expecting:
                self.gap_count += not self._is_in_gap
                self.gap_s += (wanted - len(audio)) / (_SAMPLE_BYTES * self._rate_hz)
                self._is_in_gap = True
        out[:] = audio.ljust(wanted, b"\0")


def _open_default_device(sample_rate_hz: int, callback: Callback) -> OutputStream:
    if importlib.util.find_spec("sounddevice") is None:
        raise PlaybackError("Playing needs sounddevice: `pip install sounddevice`. Or write a WAV file instead.")
    try:
        import sounddevice
    except OSError as error:
        raise PlaybackError(
            "Playing needs the PortAudio library (Debian: `apt install libportaudio2`). Or write a WAV file instead."
        ) from error
    try:
        stream: OutputStream = sounddevice.RawOutputStream(
            samplerate=sample_rate_hz, channels=1, dtype="int16", callback=callback
        )
    except sounddevice.PortAudioError as error:
        raise PlaybackError(f"No audio device can be opened: {error}. Write a WAV file instead.") from error
    return stream
