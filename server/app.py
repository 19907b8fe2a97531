"""Builds every object of the server, starts them in order and stops them in the other order."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import cast

import prometheus_client
import structlog

from server.call_metrics import CallMetrics
from server.cloning import open_store, voice_maker
from server.config import EngineSettings, Settings
from server.credentials import api_keys_from_file
from server.errors import SettingsError
from server.frontend import load_frontend
from server.interceptors import CallInterceptor
from server.listener import Listener
from server.metrics import Metrics
from server.service import TextToSpeechService
from server.synthesizer import Synthesizer
from server.utterance import UtteranceConfig
from server.voices import VoiceCatalogue
from trt_engines.base import Engine
from trt_engines.cuda.gpu_monitor import open_gpu_monitor
from trt_engines.engine_options import Backend, EngineOptions
from trt_engines.load import load_engine

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_HEALTH_INTERVAL_S = 1.0
_WARM_UP_TEXT = "One, two, three."
_WARM_UP_LEAD_S = 60.0

_log = structlog.get_logger()


class App:
    """A whole server. `start` it, and `stop` it whatever happened.

    Args:
        settings: All its settings.

    Attributes:
        port: Port of the gRPC server, once started.
        metrics_port: Port of the Prometheus endpoint, once started; -1 if it is off.
        metrics: Everything that is counted.
    """

    def __init__(self, settings: Settings) -> None:
        self.port = 0
        self.metrics_port = -1
        self.metrics = Metrics()
        self._settings = settings
        self._parts = contextlib.AsyncExitStack()
        self._listener: Listener | None = None
        self._service: TextToSpeechService | None = None
        self._synthesizer: Synthesizer | None = None

    async def __aenter__(self) -> "App":
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def is_healthy(self) -> bool:
        """Whether the model thread is alive."""
        return self._synthesizer is not None and self._synthesizer.is_healthy

    def check_integrity(self) -> None:
        """Asserts that no slot and no place is lost, once nothing is spoken."""
        if self._synthesizer is not None:
            self._synthesizer.check_integrity()

    async def start(self) -> None:
        """Loads the bundle, listens, warms up, and then reports SERVING.

        Raises:
            SettingsError: A setting is wrong, or the port is taken.
            EngineError: The bundle cannot be loaded.
        """
        settings = self._settings
        keys = api_keys_from_file(settings.security.api_keys_file)
        bundle_dir = bundle_directory(settings.engine)
        engine = await asyncio.to_thread(load_engine, bundle_dir, engine_options(settings.engine))
        self._parts.callback(engine.close)
        if settings.engine.backend != "onnxruntime" and (gpu := open_gpu_monitor()) is not None:
            self.metrics.watch_gpu(gpu)
        store = await asyncio.to_thread(open_store, engine.manifest, settings.engine.voices_dir)
        voices = VoiceCatalogue(bundle_dir, engine.manifest, store.spoken if store else tuple)
        self._synthesizer = await self._start_synthesizer(engine, bundle_dir, voices)
        self._service = TextToSpeechService(
            self._synthesizer,
            voices,
            engine.manifest,
            settings.admission,
            voice_maker(engine, store, voices),
        )
        interceptor = CallInterceptor(CallMetrics(self.metrics.registry), keys)
        self._listener = Listener(settings.listen, settings.security, self._service, interceptor)
        await self._listener.start()
        self._parts.push_async_callback(self._listener.stop)
        self.port = self._listener.port
        self._start_metrics_endpoint()
        await _warm_up(self._synthesizer)
        await self._listener.open()

    async def drain(self) -> None:
        """Refuses new utterances and returns when the last running one was sent."""
        if self._listener is not None and self._service is not None and self._synthesizer is not None:
            await self._listener.close()
            self._service.drain()
            await self._synthesizer.drain()
            await self._service.wait_closed()

    async def stop(self) -> None:
        """Stops everything that was started; what still runs is cut off. Idempotent."""
        await self._parts.aclose()

    async def _start_synthesizer(self, engine: Engine, bundle_dir: Path, voices: VoiceCatalogue) -> Synthesizer:
        custom_dir = Path(directory) if (directory := self._settings.engine.voices_dir) else None
        frontend = await asyncio.to_thread(
            load_frontend, bundle_dir, engine.manifest, custom_dir, self._settings.segments
        )
        synthesizer = Synthesizer(engine, frontend, voices, self._settings, self.metrics)
        synthesizer.start()
        self._parts.push_async_callback(synthesizer.stop)
        return synthesizer

    def _start_metrics_endpoint(self) -> None:
        listen = self._settings.listen
        if listen.metrics_port < 0:
            return
        try:
            server, _ = prometheus_client.start_http_server(listen.metrics_port, listen.host, self.metrics.registry)
        except OSError as error:
            raise SettingsError(
                f"Cannot serve metrics on {listen.host}:{listen.metrics_port}: {error.strerror}. "
                "Set listen.metrics_port to another port, 0 for any, or -1 for none."
            ) from error
        self._parts.callback(server.server_close)
        self._parts.callback(server.shutdown)
        self.metrics_port = server.server_port


async def _warm_up(synthesizer: Synthesizer) -> None:
    """Speaks once, so that the first caller does not pay for the first run of every graph."""
    speech = await synthesizer.open(UtteranceConfig(seed=0, lead_limit_s=_WARM_UP_LEAD_S))
    try:
        speech.push_text(_WARM_UP_TEXT)
        speech.finish()
        async for _ in speech.events():
            pass
    finally:
        speech.close()


async def serve(settings: Settings) -> int:
    """Runs a server until a signal ends it: the first one drains it, the second one stops it at once.

    Returns:
        Exit code of the process: 0 after a drain in which everything running was finished, otherwise 1.

    Raises:
        SettingsError, EngineError: As `App.start`.
    """
    signals: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        signal.signal(number, lambda number, _: loop.call_soon_threadsafe(signals.put_nowait, number))
    async with App(settings) as app:
        _log.info("serving", host=settings.listen.host, port=app.port, metrics_port=app.metrics_port)
        if not await _is_told_to_stop(app, signals):
            _log.error("the model thread has ended; stopping")
            return 1
        _log.info("draining", timeout_s=settings.listen.drain_timeout_s)
        is_drained = await _is_drained(app, signals, settings.listen.drain_timeout_s)
        _log.info("stopping", drained=is_drained)
        return 0 if is_drained else 1


async def _is_told_to_stop(app: App, signals: asyncio.Queue[int]) -> bool:
    """Waits for a signal; false if the server broke before one came."""
    while app.is_healthy:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(signals.get(), _HEALTH_INTERVAL_S)
            return True
    return False


async def _is_drained(app: App, signals: asyncio.Queue[int], timeout_s: float) -> bool:
    """Waits for the last utterance; false if the time is over or a second signal came first."""
    draining = asyncio.create_task(app.drain())
    second = asyncio.create_task(signals.get())
    await asyncio.wait((draining, second), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    is_drained = draining.done()
    for task in (draining, second):
        task.cancel()
    return is_drained


def bundle_directory(settings: EngineSettings) -> Path:
    """The directory of the bundle: the one that is set, or the voice that ships with the server.

    Raises:
        SettingsError: There is no such directory.
    """
    if settings.bundle_dir:
        candidates = [Path(settings.bundle_dir)]
    else:
        root = Path(__file__).parents[1]
        candidates = [root / "voices" / "default", root / "antiphon" / "voices" / "default"]  # a clone, a wheel
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    raise SettingsError(f"There is no voice bundle at {candidates[0]}; set engine.bundle_dir to one.")


def engine_options(settings: EngineSettings) -> EngineOptions:
    """How the settings ask to run the bundle."""
    threads = settings.threads or (len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1)
    plans_dir = Path(settings.plans_dir) if settings.plans_dir else None
    return EngineOptions(
        settings.slot_count, threads, cast("Backend", settings.backend), plans_dir, settings.prefix_cache_bytes
    )
