"""One utterance: text in, chunks of audio out. Tries again as long as nothing was heard."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from antiphon_client.conversation import Conversation
from antiphon_client.errors import RetryableError, ServerError, SpeechInterruptedError, StreamEndedError
from antiphon_client.events import AudioChunk, Cancelled, Event, Finished, SegmentFinished, Started
from antiphon_client.options import Retry
from antiphon_client.text import ReplayableText, Text
from antiphon_client.wav import WavWriter


class Speech:
    """An utterance being spoken; made by `AsyncClient.speak`. Iterate over it once, or `save` it.

    Args:
        open_conversation: Opens a stream to the server.
        text: What to speak: a string, or pieces that become known while it is spoken.
        retry: How often to try again before the first audio.

    Attributes:
        started: What the server will do; None until it answers.
        segments: The segments that are finished, in order.
        finished: Totals; None until all is spoken.
        cancelled: What had been sent; None unless `cancel` was called.
        ttfa_s: Time from the first text sent to the first audio received; None before it.
    """

    def __init__(self, open_conversation: Callable[[], Conversation], text: Text, retry: Retry) -> None:
        self.started: Started | None = None
        self.segments: list[SegmentFinished] = []
        self.finished: Finished | None = None
        self.cancelled: Cancelled | None = None
        self.ttfa_s: float | None = None
        self._open_conversation = open_conversation
        self._text = ReplayableText(text)
        self._retry = retry
        self._conversation: Conversation | None = None
        self._writing = asyncio.Lock()
        self._first_text_at: float | None = None
        self._is_cancelled = False

    async def cancel(self) -> None:
        """Barge-in: stops the speech. The iteration ends without another chunk and sets `cancelled`."""
        self._is_cancelled = True
        async with self._writing:
            if self._conversation is not None:
                with contextlib.suppress(StreamEndedError):  # it needs no cancel any more
                    await self._conversation.cancel()
                    await self._conversation.finish()

    async def save(self, path: str | Path) -> float:
        """Speaks into a WAV file; returns the length of its audio in seconds.

        Raises:
            AntiphonError: As when iterating; what came before the error is in the file.
        """
        wav: WavWriter | None = None
        with contextlib.ExitStack() as stack:
            async for chunk in self:
                if wav is None:
                    wav = stack.enter_context(self._wav_writer(path))
                wav.write(chunk.audio)
            return (wav or stack.enter_context(self._wav_writer(path))).duration_s

    async def __aiter__(self) -> AsyncGenerator[AudioChunk, None]:
        """Yields the audio as it comes.

        Raises:
            RetryableError: The server could not take the utterance, however often it was tried.
            SpeechInterruptedError: The stream broke after the first audio.
            AntiphonError: The request is wrong, the time is over, or the server failed.
        """
        try:
            for attempt in range(self._retry.attempt_count):
                try:
                    async with contextlib.aclosing(self._attempt()) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
                except RetryableError as error:
                    await asyncio.sleep(self._wait_s(error, attempt))
        finally:
            await self._text.close()

    def _wait_s(self, error: RetryableError, attempt: int) -> float:
        """Returns how long to wait before the next attempt; raises if there should be none."""
        if self.ttfa_s is not None:
            message = f"The speech broke off after its first audio: {error}"
            raise SpeechInterruptedError(message, reason=error.reason, request_id=error.request_id) from error
        retry = self._retry
        doubled_s = min(retry.first_wait_s * 2**attempt, retry.max_wait_s)
        wait_s = doubled_s if error.retry_after_s is None else error.retry_after_s
        if attempt + 1 >= retry.attempt_count or wait_s > retry.max_wait_s or self._is_cancelled:
            raise error
        return wait_s

    async def _attempt(self) -> AsyncGenerator[AudioChunk, None]:
        with contextlib.closing(self._open_conversation()) as conversation:
            self._conversation = conversation
            sending = asyncio.create_task(self._send(conversation))
            sending.add_done_callback(lambda task: _close_after_failure(task, conversation))
            try:
                async for event in conversation:
                    self._note(event)
                    if isinstance(event, Finished):
                        await conversation.finish()
                    if isinstance(event, AudioChunk) and not self._is_cancelled:
                        yield event
            finally:
                sending.cancel()
                await asyncio.wait([sending])
            if not sending.cancelled():
                sending.result()  # raises what the caller's text raised

    async def _send(self, conversation: Conversation) -> None:
        async for piece in self._text:
            if piece and self._first_text_at is None:
                self._first_text_at = time.perf_counter()
            if not await self._is_sent(conversation, piece):
                return
        # The stream stays open until all is spoken: a closed one could not carry a cancel.
        async with self._writing:
            if self._first_text_at is None:
                await conversation.finish()
            elif not self._is_cancelled:
                with contextlib.suppress(StreamEndedError):
                    await conversation.end_utterance()

    async def _is_sent(self, conversation: Conversation, piece: str) -> bool:
        async with self._writing:
            if self._is_cancelled:
                return False
            try:
                await conversation.send_text(piece)
            except StreamEndedError:
                return False  # the stream has ended; whoever reads the events learns why
            return True

    def _note(self, event: Event) -> None:
        match event:
            case AudioChunk() if self.ttfa_s is None:
                self.ttfa_s = time.perf_counter() - (self._first_text_at or 0.0)
                self._text.forget()
            case Started():
                self.started = event
            case SegmentFinished():
                self.segments.append(event)
            case Cancelled():
                self.cancelled = event
            case Finished():
                self.finished = event

    def _wav_writer(self, path: str | Path) -> WavWriter:
        if self.started is None:
            raise ServerError("The server ended the stream without accepting the utterance; was there any text?")
        return WavWriter(path, self.started.sample_rate_hz, self.started.encoding)


def _close_after_failure(task: asyncio.Task[None], conversation: Conversation) -> None:
    if not task.cancelled() and task.exception() is not None:
        conversation.close()
