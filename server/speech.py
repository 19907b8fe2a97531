"""One utterance being spoken, as its caller handles it: text in, events out. Lives on the event loop.

Text is cut into segments as it comes. A task of its own prepares them one after the other on the threads of the front
end, a few ahead of the talker, and hands them to the worker. Events come back through the outbox.
"""

import asyncio
import dataclasses
import hashlib
import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import structlog

from server.config import AdmissionSettings
from server.errors import AntiphonError, InternalError, OutOfOrderError, TextTooLongError
from server.frontend import Frontend
from server.metrics import Metrics
from server.model_runner import Script
from server.outbox import Outbox
from server.prepared_segment import PreparedSegment
from server.utterance import (
    AudioChunk,
    Cancelled,
    Event,
    Finished,
    Segment,
    SegmentFinished,
    SegmentId,
    Started,
    UtteranceId,
)
from server.voice import Voice
from server.worker import Worker

_SLICE = 1000  # characters that are cut at once, in one or two milliseconds

_segment_ids = map(SegmentId, itertools.count())

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SpeechPlan:
    """A config with everything looked up and filled in."""

    utterance_id: UtteranceId
    voice: Voice
    params: tuple[float, ...]
    started: Started


@dataclass(frozen=True, slots=True)
class SpeechTools:
    """What every speech of a server shares."""

    worker: Worker
    frontend: Frontend
    threads: Executor
    """Of the front end."""
    settings: AdmissionSettings
    metrics: Metrics
    clock: Callable[[], float]


class Speech:
    """One utterance; made by `Synthesizer.open`, to be closed in a `finally`.

    Args:
        plan: What to speak, and how.
        tools: What it is done with.
        make_outbox: Makes the outbox, given what to call for every event that is put into it.
        on_ended: Called once, when the utterance needs its place no more.
    """

    def __init__(
        self,
        plan: SpeechPlan,
        tools: SpeechTools,
        make_outbox: Callable[[Callable[[Event | AntiphonError], None]], Outbox],
        on_ended: Callable[[], None],
    ) -> None:
        self.outbox = make_outbox(self._note_arrival)
        self._plan = plan
        self._vector = np.asarray(plan.voice.vector, np.float32) if plan.voice.vector else None
        self._tools = tools
        self._on_ended = on_ended
        self._cutter = tools.frontend.cutter()
        self._incoming: deque[str | None] = deque()  # None stands where a flush came
        self._changed = asyncio.Event()
        self._room = asyncio.Semaphore(tools.settings.prepared_segments)
        self._waiting_characters = 0
        self._character_count = 0
        self._segment_count = 0
        self._text_ended = False
        self._has_ended = False
        self._first_text_s: float | None = None
        self._ttfa_s: float | None = None
        self._preparing = asyncio.get_running_loop().create_task(self._prepare())
        self._preparing.add_done_callback(self._note_preparation)

    @property
    def lead_s(self) -> float:
        """Audio handed out that the listener has not yet played; for the `lead_s` of the next config on the stream."""
        return self.outbox.lead_s

    def push_text(self, text: str) -> None:
        """Take any piece of text, a character or a hundred thousand.

        Raises:
            TextTooLongError: More text would wait than an utterance may hold.
            OutOfOrderError: `finish`, `cancel` or `close` came before.
        """
        if self._text_ended:
            raise OutOfOrderError("Text came after the end of its utterance; open another one for it.", "text")
        limit = self._tools.settings.max_text_characters
        if self._waiting_characters + len(text) > limit:
            raise TextTooLongError(
                f"{self._waiting_characters + len(text)} characters would wait to be spoken, but an utterance may hold "
                f"{limit}; send them later, or as several utterances.",
                "text",
            )
        if self._first_text_s is None and not text.isspace() and text:
            self._first_text_s = self._tools.clock()
        self._waiting_characters += len(text)
        self._character_count += len(text)
        self._tools.metrics.characters.inc(len(text))
        # A slice at a time, so that a book in one message does not keep the event loop from everybody else.
        self._incoming.extend(text[start : start + _SLICE] for start in range(0, len(text), _SLICE))
        self._changed.set()

    def flush(self) -> None:
        """Speak what is there, even if the sentence is not complete. More text may follow."""
        if not self._text_ended:
            self._incoming.append(None)
            self._changed.set()

    def finish(self) -> None:
        """Speak what is there and end the utterance; `events` then ends with `Finished`. Idempotent."""
        self.flush()
        self._text_ended = True
        self._changed.set()

    def cancel(self) -> None:
        """Stop now and drop what is pending; the next event is `Cancelled`, and the last. Idempotent."""
        self._text_ended = True
        self._tools.worker.cancel(self._plan.utterance_id)
        self.outbox.cancel()

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events in order, audio no faster than the lead limit allows. One reader only.

        Raises:
            DeadlineExceededError: The deadline of the config came.
            ReaderStalledError: This iterator was not read for too long.
            InvalidRequestError: The text cannot be prepared.
            InternalError: The engine failed on this utterance, or the worker ended.
        """
        yield self._plan.started
        while (event := await self.outbox.take()) is not None:
            yield self._completed(event)

    def close(self) -> None:
        """Give up what is left, silently. For `finally`: idempotent, never raises, never waits."""
        self._text_ended = True
        self.outbox.close()
        if not self._has_ended:
            self._tools.worker.cancel(self._plan.utterance_id)
            self._end("closed")

    async def _prepare(self) -> None:
        """Turn text into segments, in order, never more than a few ahead of the talker."""
        tools, loop = self._tools, asyncio.get_running_loop()
        async for text in self._segments():
            parts = await loop.run_in_executor(tools.threads, tools.frontend.prepare, text, self._plan.voice)
            for prepared in parts:
                await self._room.acquire()
                self._say(prepared)
            self._waiting_characters -= len(text)
        tools.worker.end_text(self._plan.utterance_id)

    async def _segments(self) -> AsyncIterator[str]:
        """Cut what has come into segments, no further than they are asked for, until the text has ended."""
        while True:
            while self._incoming:
                piece = self._incoming.popleft()
                for text in self._cutter.flush() if piece is None else self._cutter.push(piece):
                    yield text
            if self._text_ended:
                return
            self._changed.clear()
            await self._changed.wait()

    def _say(self, prepared: PreparedSegment) -> None:
        plan, index = self._plan, self._segment_count
        self._segment_count += 1
        segment = Segment(next(_segment_ids), plan.utterance_id, index, len(prepared.row_ids), prepared.max_frames)
        seed = segment_seed(plan.started.seed, index)
        self._tools.worker.say(Script(segment, prepared, plan.params, seed, self._vector))

    def _note_preparation(self, task: asyncio.Task[None]) -> None:
        """Let an error of the front end end the utterance."""
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if not isinstance(error, AntiphonError):
            _log.error("preparation_failed", exc_info=error)
            error = InternalError("The text could not be prepared; this is an error of the server. Others go on.")
        self._tools.worker.cancel(self._plan.utterance_id)
        self.outbox.put(error)

    def _note_arrival(self, event: Event | AntiphonError) -> None:
        """Keep count of what the worker has done, whether or not its audio was read."""
        match event:
            case SegmentFinished():
                self._room.release()
            case Finished():
                self._end(event.reason.value)
            case Cancelled():
                self._end("cancelled")
            case AntiphonError():
                self._end(event.reason.lower())

    def _end(self, outcome: str) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._text_ended = True
            self._preparing.cancel()
            self._tools.metrics.utterances.labels(outcome).inc()
            self._on_ended()

    def _completed(self, event: Event) -> Event:
        """Note what is handed out, and add to the last event what only this side knows."""
        if isinstance(event, AudioChunk):
            self._note_audio(event)
        elif isinstance(event, Finished):
            return dataclasses.replace(event, character_count=self._character_count, ttfa_s=self._ttfa_s)
        return event

    def _note_audio(self, chunk: AudioChunk) -> None:
        metrics = self._tools.metrics
        metrics.audio_seconds.inc(chunk.duration_s)
        if self._ttfa_s is None:
            self._ttfa_s = self._tools.clock() - (self._first_text_s or 0.0)
            metrics.time_to_first_audio.observe(self._ttfa_s)
        if chunk.audible_s is not None:
            metrics.time_to_first_audible.observe(self._ttfa_s + chunk.audible_s)


def segment_seed(seed: int, index: int) -> int:
    """Return the seed of a segment, so that its audio depends on the utterance's seed and its place only."""
    digest = hashlib.blake2b(f"{seed}/{index}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1
