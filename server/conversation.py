"""The utterances of one stream: routes what the client sends, speaks one after the other, keeps the stream alive."""

import asyncio
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from dataclasses import dataclass

from antiphon.v1 import synthesis_pb2, text_to_speech_service_pb2
from server import responses
from server.config import AdmissionSettings
from server.deferred_speech import DeferredSpeech, UtteranceEnd
from server.errors import AntiphonError, InvalidRequestError, OutOfOrderError, ReaderStalledError
from server.pacing import PlaybackClock
from server.requests import StreamConfig
from server.silence_watch import SilenceWatch
from server.synthesizer import Synthesizer
from server.utterance import AudioChunk, Cancelled, Event, Finished, SegmentFinished, Started

Request = text_to_speech_service_pb2.SynthesizeRequest
Response = text_to_speech_service_pb2.SynthesizeResponse

_TEXT_CHARACTERS = 4096


@dataclass(frozen=True, slots=True)
class _CancelMark:
    """Stands in the order of the utterances where the client sent a cancel."""

    utterance_index: int


class Conversation:
    """One stream, from its first message to its last.

    Three tasks share the work: one reads and never waits for speech, so that a cancel is seen at once; one speaks; one
    watches the time. Whichever fails ends the stream.

    Args:
        synthesizer: Who speaks.
        read_config: Reads and checks a config.
        write: Sends a response; waits while the transport is full.
        limits: How much text may wait to be spoken, and how long a client may read nothing.
    """

    def __init__(
        self,
        synthesizer: Synthesizer,
        read_config: Callable[[synthesis_pb2.SynthesisConfig], StreamConfig],
        write: Callable[[Response], Awaitable[None]],
        limits: AdmissionSettings,
    ) -> None:
        self.utterance_count = 0
        self.character_count = 0
        self.audio_s = 0.0
        self._synthesizer = synthesizer
        self._read_config = read_config
        self._write = write
        self._limits = limits
        self._config: StreamConfig | None = None
        self._is_half_closed = False
        self._filling: DeferredSpeech | None = None
        self._live: list[DeferredSpeech] = []
        self._turns: asyncio.Queue[DeferredSpeech | _CancelMark | AntiphonError | None] = asyncio.Queue()
        self._cancelled: Cancelled | None = None
        self._clock = PlaybackClock()
        self._writing = asyncio.Lock()
        self._watch = SilenceWatch(self._send_heartbeat, self._is_busy)

    async def run(self, requests: AsyncIterable[Request]) -> None:
        """Serves the stream until the client has closed it and everything is spoken.

        Raises:
            AntiphonError: Why the stream ends early.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read(requests))
                watching = tasks.create_task(self._watch.run())
                await self._speak()
                watching.cancel()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            for utterance in self._live:
                utterance.close()

    def end(self, error: AntiphonError) -> None:
        """Ends the stream with an error when its utterances are spoken, unless the client has closed it by then."""
        self._turns.put_nowait(error)

    # --- what the client sends

    async def _read(self, requests: AsyncIterable[Request]) -> None:
        async for request in requests:
            self._watch.received()
            for part in _parts(request):
                self._take(part)
                await asyncio.sleep(0)
        if self._config is None:
            raise OutOfOrderError("The stream was closed without any message; the first must be a config.", "config")
        self._finish_filling(synthesis_pb2.UTTERANCE_FINISH_REASON_HALF_CLOSED)
        self._is_half_closed = True
        self._turns.put_nowait(None)

    def _take(self, request: Request) -> None:
        kind = request.WhichOneof("message")
        if kind is None:
            raise InvalidRequestError(
                "A message holds nothing that this server knows; set one of config, text, flush and cancel.", "message"
            )
        if kind == "config":
            self._take_config(request.config)
        elif self._config is None:
            raise OutOfOrderError(f"The first message of a stream is {kind}; it must be a config.", "config")
        elif kind == "text":
            self._take_text(self._config, request.text)
        elif kind == "flush":
            self._take_flush(request.flush)
        else:
            self._take_cancel()

    def _take_config(self, message: synthesis_pb2.SynthesisConfig) -> None:
        config = self._read_config(message)
        self._finish_filling(synthesis_pb2.UTTERANCE_FINISH_REASON_RECONFIGURED)
        self._config = config
        self._watch.configure(config)

    def _take_text(self, config: StreamConfig, text: str) -> None:
        if not text:
            return
        self.character_count += len(text)
        if self._filling is None:
            self._filling = DeferredSpeech(self.utterance_count, config, self._limits.max_text_characters)
            self.utterance_count += 1
            self._live.append(self._filling)
            self._turns.put_nowait(self._filling)
        self._filling.push_text(text)

    def _take_flush(self, flush: synthesis_pb2.Flush) -> None:
        if flush.end_utterance:
            self._finish_filling(synthesis_pb2.UTTERANCE_FINISH_REASON_FLUSHED)
        elif self._filling is not None:
            self._filling.flush()

    def _take_cancel(self) -> None:
        running = [utterance for utterance in self._live if not utterance.is_cancelled]
        for utterance in running:
            utterance.cancel()
        self._filling = None
        self._turns.put_nowait(_CancelMark(running[0].index if running else self.utterance_count))

    def _finish_filling(self, end: UtteranceEnd) -> None:
        if self._filling is not None:
            self._filling.finish(end)
            self._filling = None

    # --- what the client hears

    async def _speak(self) -> None:
        while (turn := await self._turns.get()) is not None:
            match turn:
                case DeferredSpeech():
                    await self._speak_utterance(turn)
                case _CancelMark():
                    await self._answer_cancel(turn)
                case _ if not self._is_last_turn:
                    raise turn

    @property
    def _is_last_turn(self) -> bool:
        return self._is_half_closed and self._turns.qsize() == 1

    async def _speak_utterance(self, utterance: DeferredSpeech) -> None:
        try:
            speech = await utterance.open(self._synthesizer, self._clock.lead_s(time.monotonic()))
            self._watch.sent()
            if speech is not None:
                async for event in speech.events():
                    await self._report(utterance, event)
        finally:
            utterance.close()
            self._live.remove(utterance)

    async def _report(self, utterance: DeferredSpeech, event: Event) -> None:
        index = utterance.index
        match event:
            case AudioChunk():
                await self._send(responses.audio(index, event, utterance.config.word_timings))
                self._clock.deliver(time.monotonic(), event.duration_s)
                self.audio_s += event.duration_s
            case SegmentFinished():
                await self._send(responses.segment_finished(index, event))
            case Started():
                await self._send(responses.started(index, event, utterance.config))
            case Finished():
                await self._send(responses.finished(index, event, utterance.end))
            case Cancelled():
                self._cancelled = event

    async def _answer_cancel(self, mark: _CancelMark) -> None:
        await self._send(responses.cancelled(mark.utterance_index, self._cancelled))
        self._cancelled = None
        self._clock = PlaybackClock()

    async def _send(self, response: Response) -> None:
        async with self._writing:  # gRPC takes one write at a time
            try:
                async with asyncio.timeout(self._limits.stall_timeout_s):
                    await self._write(response)
            except TimeoutError as error:
                raise ReaderStalledError(
                    f"Nothing was read for {self._limits.stall_timeout_s:g} s, so the place was given away; read the "
                    "audio as it comes, or ask for a smaller config.max_lead."
                ) from error
        self._watch.sent()

    async def _send_heartbeat(self) -> None:
        await self._send(responses.heartbeat(self.utterance_count))

    def _is_busy(self) -> bool:
        return self._writing.locked() or any(utterance.is_waiting for utterance in self._live)


def _parts(request: Request) -> Iterator[Request]:
    """A long text in pieces, between which the other streams have their turn: cutting it into segments takes time."""
    text = request.text
    if len(text) <= _TEXT_CHARACTERS:
        yield request
        return
    for start in range(0, len(text), _TEXT_CHARACTERS):
        yield Request(text=text[start : start + _TEXT_CHARACTERS])
