"""The client for programs without asyncio: the same calls, and plain `for` loops.

with Client("localhost:50051") as client:
    for chunk in client.speak("Good morning."):
        play(chunk.audio)

The work is done by an `AsyncClient` on an event loop in a thread of its own. gRPC wants one event loop in a process, so
make one `Client` and share it, and use `AsyncClient` where a loop runs already.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from antiphon_client.aio import DEFAULT_TARGET, AsyncClient
from antiphon_client.events import AudioChunk, Cancelled, Finished, SegmentFinished, Started
from antiphon_client.new_voice import NewVoice
from antiphon_client.options import ConnectionOptions, SpeechOptions
from antiphon_client.speech import Speech
from antiphon_client.text import Text
from antiphon_client.voice import Voice

Result = TypeVar("Result")


class Client:
    """A connection to a server. Any thread may use it.

    Args:
        target: Host and port, or any target gRPC knows.
        options: How to connect.
    """

    def __init__(self, target: str = DEFAULT_TARGET, options: ConnectionOptions | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="antiphon-client", daemon=True)
        self._thread.start()
        self._client = self._run(self._opened(target, options))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def speak(
        self, text: Text, options: SpeechOptions | None = None, *, timeout_s: float | None = None
    ) -> "BlockingSpeech":
        """Speaks one utterance; see `AsyncClient.speak`. Iterate over the result, or `save` it."""
        return BlockingSpeech(self._run(self._speech(text, options, timeout_s)), self._run)

    def voices(self, language: str = "") -> list[Voice]:
        """Lists the voices; see `AsyncClient.voices`."""
        return self._run(self._client.voices(language))

    def voice(self, name: str = "") -> Voice:
        """Describes one voice; see `AsyncClient.voice`."""
        return self._run(self._client.voice(name))

    def create_voice(self, voice: NewVoice, recording: bytes | str | Path, *, timeout_s: float | None = 300.0) -> Voice:
        """Makes a voice of a recording; see `AsyncClient.create_voice`."""
        return self._run(self._client.create_voice(voice, recording, timeout_s=timeout_s))

    def delete_voice(self, name: str) -> None:
        """Deletes a voice that was made; see `AsyncClient.delete_voice`."""
        self._run(self._client.delete_voice(name))

    def close(self) -> None:
        """Closes the connection and ends the thread. Idempotent."""
        if self._thread.is_alive():
            self._run(self._client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _opened(self, target: str, options: ConnectionOptions | None) -> AsyncClient:
        return AsyncClient(target, options)

    async def _speech(self, text: Text, options: SpeechOptions | None, timeout_s: float | None) -> Speech:
        return self._client.speak(text, options, timeout_s=timeout_s)

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class BlockingSpeech:
    """An utterance being spoken; made by `Client.speak`. Its attributes are those of `Speech`.

    Args:
        speech: The utterance on the event loop.
        run: Runs a coroutine on that loop and waits for its result.
    """

    def __init__(self, speech: Speech, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._speech = speech
        self._run = run

    def __iter__(self) -> Iterator[AudioChunk]:
        """Yields the audio as it comes; raises what `Speech` raises."""
        chunks = aiter(self._speech)
        try:
            while (chunk := self._run(_next(chunks))) is not None:
                yield chunk
        finally:
            self._run(chunks.aclose())

    def save(self, path: str | Path) -> float:
        """Speaks into a WAV file; returns the length of its audio in seconds."""
        duration_s: float = self._run(self._speech.save(path))
        return duration_s

    def cancel(self) -> None:
        """Barge-in, from any thread: the iteration ends without another chunk."""
        self._run(self._speech.cancel())

    @property
    def started(self) -> Started | None:
        """What the server will do; None until it answers."""
        return self._speech.started

    @property
    def segments(self) -> list[SegmentFinished]:
        """The segments that are finished, in order."""
        return self._speech.segments

    @property
    def finished(self) -> Finished | None:
        """Totals; None until all is spoken."""
        return self._speech.finished

    @property
    def cancelled(self) -> Cancelled | None:
        """What had been sent; None unless `cancel` was called."""
        return self._speech.cancelled

    @property
    def ttfa_s(self) -> float | None:
        """Time from the first text sent to the first audio received; None before it."""
        return self._speech.ttfa_s


async def _next(chunks: AsyncIterator[AudioChunk]) -> AudioChunk | None:
    return await anext(chunks, None)
