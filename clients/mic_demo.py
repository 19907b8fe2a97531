"""Talks with a voice: what you type or pipe in is spoken while you write on, and you can interrupt it.

    python clients/mic_demo.py                     type; each line is spoken, an empty line interrupts
    python clients/mic_demo.py --mic               the same, and your own voice interrupts too (wear headphones)
    ask-a-model | python clients/mic_demo.py       speaks what is piped in while it arrives
    python clients/mic_demo.py --wav talk.wav      writes a file where there is no audio device

Prints the time to first audio of every utterance, and the gaps: times the sound stood still because audio was late.
"""

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Protocol

from antiphon_client.aio import DEFAULT_TARGET, AsyncClient
from antiphon_client.conversation import Conversation
from antiphon_client.errors import AntiphonError
from antiphon_client.events import AudioChunk, Cancelled, Finished, Started
from antiphon_client.options import SpeechOptions
from antiphon_client.player import PlaybackError, Player
from antiphon_client.stdin import standard_input
from antiphon_client.voice_activity import VoiceActivity
from antiphon_client.wav import WavWriter

_MIC_RATE_HZ = 16_000
_MIC_BLOCK = 320
_IDLE_TIMEOUT_S = 3600.0


class Sink(Protocol):
    """Where the sound goes."""

    gap_count: int
    gap_s: float

    def write(self, audio: bytes) -> None:
        """Takes a chunk."""

    def end(self) -> None:
        """No more chunks for now."""

    def clear(self) -> float:
        """Drops what was not heard yet; returns its length in seconds."""

    async def drain(self) -> None:
        """Waits until all was heard."""

    def close(self) -> None:
        """Gives the device or file back."""


class WavSink:
    """Writes a file, and counts the gaps a listener would have heard.

    Args:
        path: File to write.
        sample_rate_hz: Samples per second.
    """

    def __init__(self, path: Path, sample_rate_hz: int) -> None:
        self.gap_count = 0
        self.gap_s = 0.0
        self._rate_hz = sample_rate_hz
        self._wav = WavWriter(path, sample_rate_hz)
        self._heard_until_s: float | None = None

    def write(self, audio: bytes) -> None:
        """Takes a chunk."""
        now_s = time.perf_counter()
        if self._heard_until_s is not None and now_s > self._heard_until_s:
            self.gap_count += 1
            self.gap_s += now_s - self._heard_until_s
        self._heard_until_s = max(now_s, self._heard_until_s or 0.0) + len(audio) / (2 * self._rate_hz)
        self._wav.write(audio)

    def end(self) -> None:
        """No more chunks for now."""
        self._heard_until_s = None

    def clear(self) -> float:
        """Nothing can be taken back out of a file; returns what a listener would not have heard."""
        unheard_s = max(0.0, (self._heard_until_s or 0.0) - time.perf_counter())
        self._heard_until_s = None
        return unheard_s

    async def drain(self) -> None:
        """All is in the file already."""

    def close(self) -> None:
        """Finishes the file."""
        self._wav.close()


class Talk:
    """One conversation and what is heard of it.

    Args:
        conversation: The stream.
        open_sink: Opens the device or the file, for a sample rate.
    """

    def __init__(self, conversation: Conversation, open_sink: Callable[[int], Sink]) -> None:
        self._conversation = conversation
        self._open_sink = open_sink
        self._sink: Sink | None = None
        self._asked_s: float | None = None
        self._is_waiting = False
        self._is_speaking = False

    async def send(self, pieces: AsyncIterator[str], has_lines: bool) -> None:
        """Sends text as it comes; of typed text every line is an utterance, and an empty line interrupts."""
        async for piece in pieces:
            if has_lines and not piece.strip():
                await self.interrupt("You pressed Enter")
                continue
            if piece.strip() and not self._is_waiting and (has_lines or self._asked_s is None):
                self._asked_s, self._is_waiting = time.perf_counter(), True
            await self._conversation.send_text(piece)
            if has_lines:
                await self._conversation.end_utterance()
        await self._conversation.finish()

    async def interrupt(self, why: str) -> None:
        """Barge-in: silence here at once, and no more from the server."""
        if self._sink is not None and self._is_speaking:
            self._is_speaking = False
            self._asked_s = None
            dropped_s = self._sink.clear()
            _say(f"{why}: stopped, {dropped_s:.2f} s were not played.")
            await self._conversation.cancel()

    async def listen(self) -> None:
        """Hands the sound on until the stream ends, and waits until it was heard."""
        async for event in self._conversation:
            match event:
                case Started():
                    self._sink = self._sink or self._open_sink(event.sample_rate_hz)
                    self._is_speaking = True
                case AudioChunk() if self._sink is not None and self._is_speaking:
                    self._hear_chunk(self._sink, event)
                case Cancelled():
                    _say(f"The server had sent {event.sent_s:.2f} s; you heard {event.played_s:.2f} s of it.")
                case Finished() if self._sink is not None:
                    self._asked_s = None
                    self._sink.end()
                    _say(f"{event.duration_s:.2f} s of speech; gaps so far: {_gaps(self._sink)}.")
        if self._sink is not None:
            await self._sink.drain()

    def _hear_chunk(self, sink: Sink, chunk: AudioChunk) -> None:
        if self._asked_s is not None and self._is_waiting:
            self._is_waiting = False
            _say(f"First audio after {1000 * (time.perf_counter() - self._asked_s):.0f} ms.")
        sink.write(chunk.audio)

    def close(self) -> None:
        """Closes the device or the file."""
        if self._sink is not None:
            self._sink.close()


def main() -> None:
    """Reads the options and talks until the text ends or Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=DEFAULT_TARGET, help="host and port")
    parser.add_argument("--voice", default="", help="name of the voice")
    parser.add_argument("--wav", type=Path, help="write a WAV file and play nothing")
    parser.add_argument("--mic", action="store_true", help="let your voice interrupt")
    arguments = parser.parse_args()
    try:
        asyncio.run(_talk(arguments))
    except KeyboardInterrupt:
        sys.exit(130)
    except PlaybackError as error:
        sys.exit(f"{error} For example: --wav talk.wav")
    except AntiphonError as error:
        sys.exit(f"{error} Is a server running? Start one with `antiphon serve`.")


async def _talk(arguments: argparse.Namespace) -> None:
    options = SpeechOptions(voice=arguments.voice, idle_timeout_s=_IDLE_TIMEOUT_S)
    wav: Path | None = arguments.wav
    async with AsyncClient(arguments.server) as client, client.converse(options) as conversation:
        talk = Talk(conversation, Player if wav is None else lambda rate_hz: WavSink(wav, rate_hz))
        with contextlib.closing(talk), _microphone(talk) if arguments.mic else contextlib.nullcontext():
            if sys.stdin.isatty():
                _say("Type, and press Enter to hear it. Enter alone interrupts, Ctrl-D ends.")
            sending = asyncio.create_task(talk.send(standard_input(), sys.stdin.isatty()))
            try:
                await talk.listen()
            finally:
                sending.cancel()


@contextlib.contextmanager
def _microphone(talk: Talk) -> Iterator[None]:
    """Listens to the microphone and interrupts when somebody speaks."""
    try:
        import sounddevice
    except (ImportError, OSError) as error:
        raise PlaybackError("--mic needs sounddevice and the PortAudio library.") from error
    loop = asyncio.get_running_loop()
    activity = VoiceActivity()

    def heard(samples: object, frame_count: int, at: object, status: object) -> None:
        if activity.hears_voice(bytes(samples), _MIC_RATE_HZ):  # type: ignore[call-overload] # a buffer of sounddevice
            asyncio.run_coroutine_threadsafe(talk.interrupt("You spoke"), loop)

    with sounddevice.RawInputStream(
        samplerate=_MIC_RATE_HZ, blocksize=_MIC_BLOCK, channels=1, dtype="int16", callback=heard
    ):
        yield


def _gaps(sink: Sink) -> str:
    return f"{sink.gap_count}, {sink.gap_s:.2f} s in all"


def _say(line: str) -> None:
    print(f"  [{line}]", file=sys.stderr)


if __name__ == "__main__":
    main()
