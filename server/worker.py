"""The one model thread. Its loop can be read aloud: take messages, schedule, run, update, deliver.

It sleeps when there is nothing to do, and wakes on a message or when the scheduler will have something new to say.
Cancelling is a message like any other, so a slot is free at the next step. Nothing here calls back up: results leave
through the outbox that came with the utterance.
"""

import asyncio
import queue
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import structlog

from server.chunker import Chunker
from server.config import Settings
from server.errors import (
    AntiphonError,
    DeadlineExceededError,
    EngineFailedError,
    ReaderStalledError,
    WorkerStoppedError,
)
from server.kv_cache import SlotPool
from server.metrics import Metrics
from server.model_runner import ModelRunner, Script
from server.outbox import Outbox, deliver
from server.progress import UtteranceProgress
from server.scheduler import Scheduler
from server.step import EngineLimits, Failure, Outcome, SegmentEnded, Step, StepResult, UtteranceEnded, VocodeResult
from server.storyline import Storylines
from server.utterance import Event, Finished, SegmentFinished, UtteranceId
from server.vocoding import VocodedBatch, VocodeFuture, VocodeTask, Vocoding
from trt_engines.base import Engine
from trt_engines.thread_name import name_this_thread

_FAILURE_LIMIT = 3  # in a row; then the engine is beyond help and the process should be replaced

_log = structlog.get_logger(__name__)


class _Channel(NamedTuple):
    """How the results of an utterance leave."""

    outbox: Outbox
    chunker: Chunker


class Worker:
    """Owns the model thread and, on it, the scheduler and the engine. Its methods are called on the event loop.

    Args:
        engine: A loaded bundle; whoever made it closes it after `stop`.
        settings: Scheduling and admission.
        metrics: Where steps are recorded.
        loop: The event loop on which the outboxes live.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        metrics: Metrics,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self._loop = loop
        self._clock = clock
        manifest = engine.manifest
        self._frame_s = manifest.audio.samples_per_frame / manifest.audio.sample_rate_hz
        self._slots = SlotPool(engine.talker.slot_count)
        self._scheduler = Scheduler(
            settings.scheduling,
            EngineLimits(manifest.max_positions, manifest.prefill.chunk_rows),
            settings.admission.stall_timeout_s,
            self._slots,
            SlotPool(engine.vocoder.slot_count),
        )
        self._runner = ModelRunner(engine)
        self._stories = Storylines(self._start_script, self._scheduler.end_text, self._runner.frames)
        self._vocoding = Vocoding(engine.vocoder, manifest.audio.sample_rate_hz, loop, clock)
        self._outboxes: weakref.WeakSet[Outbox] = weakref.WeakSet()
        self._channels: dict[UtteranceId, _Channel] = {}
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._failure_count = 0
        self._is_stopping = False
        self._has_ended = False
        self._thread = threading.Thread(target=self._main, name="model", daemon=True)
        metrics.slots.set(self._slots.slot_count)

    def start(self) -> None:
        """Start the model thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the model thread after its present step and wait for it; what still runs fails. For any thread."""
        self._inbox.put(self._begin_to_stop)
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether the model thread runs."""
        return self._thread.is_alive() and not self._has_ended

    def open(self, utterance: UtteranceProgress, outbox: Outbox, chunker: Chunker) -> None:
        """Take on an utterance; its events go into the outbox."""
        if self._has_ended:
            outbox.put(_worker_stopped())
            return
        self._outboxes.add(outbox)
        self._inbox.put(partial(self._open, utterance, _Channel(outbox, chunker)))

    def say(self, script: Script) -> None:
        """Queue a segment behind the others of its utterance."""
        self._inbox.put(partial(self._stories.say, script))

    def end_text(self, utterance_id: UtteranceId) -> None:
        """No more segments will come; the utterance ends when the last one has been spoken."""
        self._inbox.put(partial(self._stories.end_text, utterance_id))

    def cancel(self, utterance_id: UtteranceId) -> None:
        """Drop an utterance and give back its slots at the next step; says nothing to its outbox."""
        self._inbox.put(partial(self._cancel, utterance_id))

    def wake(self) -> None:
        """Look again: a reader has taken audio."""
        self._inbox.put(_nothing)

    def capacity(self, max_load: float) -> int:
        """Return how many utterances can be spoken in real time with the engine busy for `max_load` of it at most."""
        return self._scheduler.planner.capacity(max_load * self._frame_s)

    def check_integrity(self) -> None:
        """Assert that no slot is lost; only while nothing is spoken, or after `stop`."""
        self._scheduler.check_integrity()

    def _main(self) -> None:
        name_this_thread()
        try:
            while not self._is_stopping:
                self._turn()
        finally:
            self._vocoding.stop()
            self._loop.call_soon_threadsafe(self._fail_all)

    def _fail_all(self) -> None:
        """Let nobody wait for a thread that is gone; runs on the event loop, as `open` does."""
        self._has_ended = True
        for outbox in list(self._outboxes):
            outbox.put(_worker_stopped())

    def _turn(self) -> None:
        step = self._scheduler.schedule(self._clock())
        self._deliver(step)
        self._start_vocoding(step)
        self._scheduler.update(step, self._run(step))
        self._stories.take_in()
        self._take_messages(is_idle=step.is_idle)

    def _take_messages(self, *, is_idle: bool) -> None:
        """Act on every message that is there; wait for one if there was nothing to do."""
        try:
            if is_idle:
                now_s = self._clock()
                wait_s = self._scheduler.next_wake_s(now_s) - now_s
                self._inbox.get(timeout=max(0.0, min(wait_s, threading.TIMEOUT_MAX)))()
            while True:
                self._inbox.get_nowait()()
        except queue.Empty:
            pass
        now_s = self._clock()
        for utterance_id, channel in self._channels.items():
            self._scheduler.set_read(utterance_id, channel.outbox.taken_s, now_s)

    def _run(self, step: Step) -> StepResult:
        try:
            result = self._runner.run(step)
        except Exception as error:  # noqa: BLE001 - the one broad except: only those who shared the step may suffer
            self._count_failure(error, "step_failed", len(step.decode))
            self._scheduler.fail({work.segment_id for work in step.prefill} | {work.segment_id for work in step.decode})
            return StepResult()
        if step.decode:
            self._failure_count = 0
            self._metrics.step_time.observe(result.decode_s)
            self._metrics.batch_rows.observe(len(step.decode))
        if step.prefill:
            self._metrics.prefill_time.observe(result.prefill_s)
        return result

    def _start_vocoding(self, step: Step) -> None:
        tasks = []
        for work in step.vocode:
            segment = self._runner.script(work.segment_id).segment
            channel = self._channels[segment.utterance_id]
            item, words = self._runner.vocode_item(work), self._runner.words_within(work)
            tasks.append(VocodeTask(segment, item, words, channel.chunker, channel.outbox))
        if tasks:
            future = self._vocoding.submit(tasks)
            future.add_done_callback(lambda done: self._inbox.put(partial(self._vocoded, tasks, done)))

    def _vocoded(self, tasks: list[VocodeTask], future: VocodeFuture) -> None:
        """Take in a batch that the vocoder has done, or failed to do."""
        error = future.exception()
        if error is None:
            batch = future.result()
        else:
            self._count_failure(error, "vocode_failed", len(tasks))
            failed = tuple(VocodeResult(task.segment.id, 0.0, is_last=True, failed=True) for task in tasks)
            batch = VocodedBatch(failed, self._clock(), 0.0)
        frame_count = sum(len(task.item.frames) for task in tasks)
        for spare_s in self._scheduler.vocoded(batch.results, batch.ended_s, batch.duration_s, frame_count):
            self._metrics.lead.observe(max(0.0, spare_s))
            if spare_s < 0.0:
                self._metrics.underruns.inc()
                self._metrics.underrun_length.observe(-spare_s)
        self._metrics.vocode_time.observe(batch.duration_s)

    def _deliver(self, step: Step) -> None:
        """Send what has come to an end to its readers."""
        deliveries = [delivery for outcome in step.outcomes for delivery in self._deliveries_of(outcome)]
        if deliveries:
            deliver(self._loop, deliveries)
        self._metrics.slots_in_use.set(self._slots.used_count)

    def _deliveries_of(self, outcome: Outcome) -> list[tuple[Outbox, Event | AntiphonError]]:
        channel = self._channels.get(outcome.utterance_id)
        if channel is None:  # cancelled after this outcome was decided
            return []
        if isinstance(outcome, SegmentEnded):
            return [(channel.outbox, self._segment_finished(outcome, channel.chunker))]
        del self._channels[outcome.utterance_id]
        self._stories.forget(outcome.utterance_id)
        if outcome.duration_s:
            self._metrics.real_time_factor.observe(outcome.synthesis_s / outcome.duration_s)
        return [(channel.outbox, _end_of(outcome))]

    def _segment_finished(self, outcome: SegmentEnded, chunker: Chunker) -> SegmentFinished:
        script = self._runner.script(outcome.segment_id)
        start_s, duration_s = chunker.segment_start_s, chunker.segment_s
        if not outcome.frame_count:  # the chunker has never heard of it
            start_s, duration_s = chunker.duration_s, 0.0
        prepared = script.prepared
        return SegmentFinished(
            script.segment.index, prepared.text, start_s, duration_s, outcome.reason, prepared.unspoken
        )

    def _open(self, utterance: UtteranceProgress, channel: _Channel) -> None:
        self._channels[utterance.id] = channel
        self._scheduler.add_utterance(utterance)
        self._stories.open(utterance)

    def _start_script(self, script: Script) -> None:
        self._runner.add(script)
        self._scheduler.add_segment(script.segment, self._clock())

    def _cancel(self, utterance_id: UtteranceId) -> None:
        self._channels.pop(utterance_id, None)
        self._stories.forget(utterance_id)
        self._scheduler.cancel(utterance_id)

    def _begin_to_stop(self) -> None:
        self._is_stopping = True

    def _count_failure(self, error: BaseException, event: str, rows: int) -> None:
        """Log a failure of the engine, and raise it again when it has failed too often in a row."""
        self._failure_count += 1
        _log.error(event, rows=rows, failures=self._failure_count, exc_info=error)
        if self._failure_count == _FAILURE_LIMIT:
            raise error


def _worker_stopped() -> WorkerStoppedError:
    return WorkerStoppedError("The model thread has ended, so the utterance cannot go on; try another server.")


def _nothing() -> None:
    """Wake the model thread, no more."""


def _end_of(outcome: UtteranceEnded) -> Finished | AntiphonError:
    """Return the last event of an utterance; the front door adds what only it knows."""
    match outcome.reason:
        case Failure.DEADLINE:
            return DeadlineExceededError("The deadline came before the end of the utterance; ask for more time.")
        case Failure.STALLED:
            return ReaderStalledError("No audio was read for too long, so the utterance was ended; read faster.")
        case Failure.ENGINE:
            return EngineFailedError("The voice failed on this utterance; others go on. Trying again may help.")
        case reason:
            return Finished(reason, outcome.duration_s, outcome.segment_count, 0, None)
