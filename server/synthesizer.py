"""The async front door: checks what is asked for, admits or refuses it, and opens a `Speech`. Lives on the event loop.

speech = await synthesizer.open(config)
try:
    speech.push_text("Hello, ")            # from the task that reads requests
    speech.finish()                        # no more text
    async for event in speech.events():    # from the task that writes responses
        ...
finally:
    speech.close()                         # the slot is free at the next step
"""

import asyncio
import itertools
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from server.admission import Admission
from server.audio import check_sample_rate
from server.chunker import Chunker
from server.config import Settings
from server.errors import AntiphonError, InvalidConfigError, OutOfRangeError, WorkerStoppedError
from server.frontend import Frontend
from server.metrics import Metrics
from server.outbox import Outbox
from server.progress import Ramp, UtteranceProgress
from server.speech import Speech, SpeechPlan, SpeechTools
from server.utterance import AudioFormat, Event, Started, UtteranceConfig, UtteranceId
from server.voices import VoiceCatalogue
from server.worker import Worker
from trt_engines.base import Engine

_SEEDS = 2**31
_PATIENT_CHUNKS = 2  # chunks of the voice in one for a listener who has plenty
_WHOLE_LEAD_S = 60.0  # who takes this much in advance writes a file; nobody waits for the next word


class Synthesizer:
    """The one front door of the server; made by `app` on the running event loop.

    Args:
        engine: A loaded bundle; whoever made it closes it after `stop`.
        frontend: Turns text into rows for the engine.
        voices: Who can speak.
        settings: Scheduling and admission.
        metrics: Where everything is counted.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        engine: Engine,
        frontend: Frontend,
        voices: VoiceCatalogue,
        settings: Settings,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._manifest = engine.manifest
        self._voices = voices
        self._settings = settings
        self._clock = clock
        self._worker = Worker(engine, settings, metrics, asyncio.get_running_loop(), clock)
        self._admission = Admission(settings.admission, self._worker.capacity, metrics, clock)
        self._threads = ThreadPoolExecutor(settings.admission.frontend_threads, "frontend")
        self._tools = SpeechTools(self._worker, frontend, self._threads, settings.admission, metrics, clock)
        self._ids = map(UtteranceId, itertools.count())

    def start(self) -> None:
        """Start the model thread."""
        self._worker.start()

    @property
    def is_healthy(self) -> bool:
        """Whether new utterances are spoken: the model thread is alive and nobody drains."""
        return self._worker.is_alive and not self._admission.is_draining

    def check(self, config: UtteranceConfig) -> None:
        """Raise what `open` would raise for a config that is wrong, without opening anything.

        Raises:
            VoiceNotFoundError: No voice of that name.
            InvalidRequestError: A field of the config is wrong; `field` says which.
        """
        self._plan(config, UtteranceId(-1))

    async def open(self, config: UtteranceConfig) -> Speech:
        """Admit an utterance, or refuse it; waits only if the config has a queue timeout.

        Raises:
            RefusedError: No place (`ServerFullError`, `QueueFullError`, `QueueTimeoutError`, `DrainingError`).
            DeadlineExceededError: The deadline came first.
            VoiceNotFoundError: No voice of that name.
            InvalidRequestError: A field of the config is wrong; `field` says which.
            WorkerStoppedError: The model thread is gone.
        """
        plan = self._plan(config, next(self._ids))
        if not self._worker.is_alive:
            raise WorkerStoppedError("The model thread of this server has ended; try another server.")
        is_live = plan.started.lead_limit_s < _WHOLE_LEAD_S
        await self._admission.enter(config.queue_timeout_s, config.deadline_s, is_live=is_live)
        speech = Speech(plan, self._tools, lambda on_put: self._outbox(config, plan, on_put), self._admission.leave)
        progress = self._progress(config, plan)
        audio = self._manifest.audio
        chunker = Chunker(plan.started.audio, audio.sample_rate_hz, audio.samples_per_frame)
        self._worker.open(progress, speech.outbox, chunker)
        return speech

    async def drain(self) -> None:
        """Refuse new utterances from now on, and return when the last one that runs has been made."""
        self._admission.drain()
        await self._admission.wait_empty()

    async def stop(self) -> None:
        """End all threads; whatever still runs fails with `WorkerStoppedError`."""
        await asyncio.to_thread(self._worker.stop)
        self._threads.shutdown(cancel_futures=True)

    def check_integrity(self) -> None:
        """Assert that no slot is lost, once nothing is spoken."""
        self._worker.check_integrity()

    def _plan(self, config: UtteranceConfig, utterance_id: UtteranceId) -> SpeechPlan:
        voice = self._voices.get(config.voice_name)
        params = self._params(config.params)
        audio = AudioFormat(config.audio.encoding, config.audio.sample_rate_hz or self._manifest.audio.sample_rate_hz)
        check_sample_rate(audio.sample_rate_hz)
        seed = secrets.randbelow(_SEEDS) if config.seed is None else config.seed
        started = Started(voice.name, audio, seed, params, self._lead_limit_s(config))
        return SpeechPlan(utterance_id, voice, tuple(params.values()), started)

    def _params(self, asked: Mapping[str, float]) -> dict[str, float]:
        """Return the value of every parameter of the manifest, in its order."""
        specs = {spec.name: spec for spec in self._manifest.step.params}
        for name, value in asked.items():
            field = f"config.sampling.{name}"
            if name not in specs:
                known = ", ".join(specs) or "none"
                raise InvalidConfigError(f"This voice has no parameter {name!r}; it has {known}.", field)
            low, high = specs[name].min, specs[name].max
            if not low <= value <= high:  # false for NaN as well
                raise OutOfRangeError(f"Parameter {name} must lie between {low:g} and {high:g}, not {value:g}.", field)
        return {name: asked.get(name, spec.default) for name, spec in specs.items()}

    def _lead_limit_s(self, config: UtteranceConfig) -> float:
        if config.lead_limit_s is None:
            return self._settings.scheduling.lead_limit_s
        if not config.lead_limit_s > 0.0:
            raise OutOfRangeError(
                f"The lead must be allowed to be more than 0 seconds, not {config.lead_limit_s:g}.",
                "config.max_lead",
            )
        return config.lead_limit_s

    def _outbox(
        self, config: UtteranceConfig, plan: SpeechPlan, on_put: Callable[[Event | AntiphonError], None]
    ) -> Outbox:
        return Outbox(plan.started.lead_limit_s, config.lead_s, self._clock, self._worker.wake, on_put)

    def _progress(self, config: UtteranceConfig, plan: SpeechPlan) -> UtteranceProgress:
        vocode, frame_s = self._manifest.vocode, 1.0 / self._manifest.audio.frame_rate_hz
        largest = _frames(config.largest_chunk_s, frame_s, vocode.chunk_frames)
        first = min(largest, _frames(config.first_chunk_s, frame_s, vocode.first_chunk_frames))
        growth = self._settings.scheduling.chunk_growth
        patient = 0 if config.largest_chunk_s else _PATIENT_CHUNKS * vocode.chunk_frames
        ramp = Ramp(first, largest, growth, frame_s, vocode.lookahead_frames, patient)
        progress = UtteranceProgress(plan.utterance_id, ramp, plan.started.lead_limit_s, config.deadline_s)
        if config.lead_s > 0.0:
            progress.clock.end_s = self._clock() + config.lead_s
        return progress


def _frames(wanted_s: float | None, frame_s: float, default: int) -> int:
    """Return the whole number of frames nearest to a wish, or the voice's own number."""
    return default if wanted_s is None else max(1, round(wanted_s / frame_s))
