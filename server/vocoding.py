"""The second thread: frames become samples, samples become chunks and leave for their readers."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from server.chunker import Chunker, SpokenWord
from server.outbox import Outbox, deliver
from server.step import VocodeResult
from server.utterance import AudioChunk, Segment
from trt_engines.base import VocodeItem, Vocoder
from trt_engines.errors import SlotError
from trt_engines.thread_name import name_this_thread


class VocodeTask(NamedTuple):
    """A piece of a segment on its way through the vocoder to its reader."""

    segment: Segment
    item: VocodeItem
    words: tuple[SpokenWord, ...]
    chunker: Chunker
    outbox: Outbox


class VocodedBatch(NamedTuple):
    """What became of a batch."""

    results: tuple[VocodeResult, ...]
    ended_s: float
    """When its audio left."""
    duration_s: float
    """How long it took."""


VocodeFuture: TypeAlias = "Future[VocodedBatch]"


class Vocoding:
    """Runs batches one after the other. Whatever goes wrong in one is raised by its future's `result`.

    Args:
        vocoder: The engine's; nobody else may call it.
        sample_rate_hz: Of its samples.
        loop: Where the outboxes live.
        clock: Monotonic seconds.
    """

    def __init__(
        self, vocoder: Vocoder, sample_rate_hz: int, loop: asyncio.AbstractEventLoop, clock: Callable[[], float]
    ) -> None:
        self._vocoder = vocoder
        self._sample_rate_hz = sample_rate_hz
        self._loop = loop
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "vocoder", name_this_thread)

    def submit(self, tasks: Sequence[VocodeTask]) -> VocodeFuture:
        """Queue a batch behind the one that runs."""
        return self._thread.submit(self._vocode, tasks)

    def stop(self) -> None:
        """Finish the batch that runs, drop the others and end the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _vocode(self, tasks: Sequence[VocodeTask]) -> VocodedBatch:
        began_s = time.perf_counter()
        outputs = self._vocoder.vocode([task.item for task in tasks])
        results, deliveries = [], []
        for task, samples in zip(tasks, outputs, strict=True):
            result, chunk = self._finish(task, samples)
            results.append(result)
            if chunk:
                deliveries.append((task.outbox, chunk))
        deliver(self._loop, deliveries)
        return VocodedBatch(tuple(results), self._clock(), time.perf_counter() - began_s)

    def _finish(
        self, task: VocodeTask, samples: NDArray[np.float32] | SlotError
    ) -> tuple[VocodeResult, AudioChunk | None]:
        segment, item = task.segment, task.item
        if item.is_last or isinstance(samples, SlotError):
            self._vocoder.release(item.slot)
        if isinstance(samples, SlotError):
            return VocodeResult(segment.id, 0.0, is_last=True, failed=True), None
        if item.is_first:
            task.chunker.begin_segment()
        samples = task.chunker.without_lead_in(samples)
        chunk = task.chunker.chunk(samples, segment.index, task.words, item.is_last)
        return VocodeResult(segment.id, len(samples) / self._sample_rate_hz, item.is_last, failed=False), chunk
