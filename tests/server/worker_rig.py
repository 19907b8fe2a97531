"""A worker on a scripted engine, and readers for what it says."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from server.chunker import Chunker
from server.config import Settings
from server.metrics import Metrics
from server.model_runner import Script
from server.outbox import Outbox
from server.prepared_segment import PreparedSegment, WordSpan
from server.progress import Ramp, UtteranceProgress
from server.utterance import (
    AudioChunk,
    AudioEncoding,
    AudioFormat,
    Event,
    Segment,
    SegmentId,
    UtteranceId,
)
from server.worker import Worker
from tests.fakes import (
    FRAME_S,
    LOOKAHEAD_FRAMES,
    SAMPLE_RATE_HZ,
    SAMPLES_PER_FRAME,
    ScriptedTalker,
    ScriptedVocoder,
    rows,
    scripted_engine,
)

RAMP = Ramp(2, 8, 2.0, FRAME_S, LOOKAHEAD_FRAMES)


WORDS = (WordSpan("one", 0, 2, 0, 3), WordSpan("two", 2, 4, 4, 7))


class WorkerRig:
    """A worker on a scripted engine of four slots."""

    def __init__(self, settings: Settings) -> None:
        self.engine = scripted_engine(4)
        assert isinstance(self.engine.talker, ScriptedTalker)
        assert isinstance(self.engine.vocoder, ScriptedVocoder)
        self.talker, self.vocoder = self.engine.talker, self.engine.vocoder
        self.metrics = Metrics()
        self.worker = Worker(self.engine, settings, self.metrics, asyncio.get_running_loop())
        self.segment_count = 0

    def open(self, number: int, lead_limit_s: float = float("inf"), deadline_s: float = float("inf")) -> Outbox:
        """Open an utterance that is handed out as fast as it is made."""
        outbox = Outbox(lead_limit_s, 0.0, time.monotonic, self.worker.wake, lambda event: None)
        chunker = Chunker(AudioFormat(AudioEncoding.PCM_F32LE, SAMPLE_RATE_HZ), SAMPLE_RATE_HZ, SAMPLES_PER_FRAME)
        self.worker.open(UtteranceProgress(UtteranceId(number), RAMP, lead_limit_s, deadline_s), outbox, chunker)
        return outbox

    def say(self, number: int, row_count: int = 8, first: int = 1, seed: int = 5, max_frames: int = 300) -> None:
        """Add a segment to an utterance."""
        prepared = PreparedSegment("one two", rows(row_count, first), WORDS, ("7",), max_frames)
        segment = Segment(SegmentId(self.segment_count), UtteranceId(number), 0, row_count, max_frames)
        self.segment_count += 1
        self.worker.say(Script(segment, prepared, (1.0,), seed))

    def speak(self, number: int, **prompt: Any) -> Outbox:
        """Open an utterance of one segment."""
        outbox = self.open(number)
        self.say(number, **prompt)
        self.worker.end_text(UtteranceId(number))
        return outbox

    def value(self, name: str, **labels: str) -> float:
        """Return what a metric shows."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


async def read(outbox: Outbox) -> list[Event]:
    """Read an utterance to its end."""
    events = []
    while (event := await asyncio.wait_for(outbox.take(), 20.0)) is not None:
        events.append(event)
    return events


async def read_audio(outbox: Outbox) -> bytes:
    """Read the sound of an utterance."""
    return b"".join(event.audio for event in await read(outbox) if isinstance(event, AudioChunk))


async def wait_until(condition: Callable[[], bool]) -> None:
    """Let the event loop run until something is true; the test's own timeout ends a wait in vain."""
    while not condition():  # noqa: ASYNC110 - what is waited for happens on a thread that knows no event
        await asyncio.sleep(0.001)
