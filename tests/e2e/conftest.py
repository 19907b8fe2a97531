"""A real server on the tiny bundle behind a real socket, one for all tests, and clients for it.

Everything runs on one event loop for the whole session, because gRPC wants one loop in a process.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from grpc import aio

from antiphon.v1.text_to_speech_service_pb2_grpc import TextToSpeechServiceStub
from antiphon_client.aio import AsyncClient
from antiphon_client.options import ConnectionOptions, Retry
from server.app import App
from server.config import EngineSettings, ListenSettings, Settings

ONCE = ConnectionOptions(retry=Retry(attempt_count=1))


def server_settings(bundle_dir: Path, **admission: float) -> Settings:
    """A server of eight slots on any free port, with these limits of admission; a busy machine refuses nobody."""
    limits = {"max_load": 0.0, **admission}
    settings = Settings(
        listen=ListenSettings(port=0, metrics_port=-1),
        engine=EngineSettings(bundle_dir=str(bundle_dir), slot_count=8, threads=1),
    )
    return dataclasses.replace(settings, admission=dataclasses.replace(settings.admission, **limits))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_app(tiny_bundle: Path) -> AsyncIterator[App]:
    """The server of all tests; a module that needs another one overrides it."""
    async with App(server_settings(tiny_bundle)) as app:
        yield app


@pytest_asyncio.fixture(loop_scope="session")
async def app(shared_app: App) -> AsyncIterator[App]:
    """The server for one test, after which every slot and every place must be free again."""
    yield shared_app
    await idle(shared_app)


@pytest_asyncio.fixture(loop_scope="session")
async def client(app: App) -> AsyncIterator[AsyncClient]:
    """A client of it that never tries again."""
    async with AsyncClient(f"127.0.0.1:{app.port}", ONCE) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def stub(app: App) -> AsyncIterator[TextToSpeechServiceStub]:
    """The bare contract, for requests that no client library would send."""
    async with aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        yield TextToSpeechServiceStub(channel)


def gauge(app: App, name: str, **labels: str) -> float:
    """What a metric of the server says now; 0 if it was never counted."""
    return app.metrics.registry.get_sample_value(name, labels) or 0.0


async def idle(app: App, timeout_s: float = 10.0) -> None:
    """Returns when nothing is spoken any more; fails if a slot or a place is lost."""
    async with asyncio.timeout(timeout_s):
        while gauge(app, "tts_active_streams") or gauge(app, "tts_slots_in_use"):  # noqa: ASYNC110 - a metric has no event
            await asyncio.sleep(0.01)
    app.check_integrity()
