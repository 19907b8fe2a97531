"""A real server on the tiny bundle behind a real socket, for one test at a time, and clients for it."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from grpc import aio

from antiphon.v1.text_to_speech_service_pb2_grpc import TextToSpeechServiceStub
from antiphon_client.aio import AsyncClient
from antiphon_client.options import ConnectionOptions, Retry
from server.app import App
from server.config import EngineSettings, ListenSettings, Settings

ONCE = ConnectionOptions(retry=Retry(attempt_count=1))


@pytest.fixture
def settings(tiny_bundle: Path) -> Settings:
    """A server of eight slots on any free port; a test module may override it."""
    return Settings(
        listen=ListenSettings(port=0, metrics_port=-1),
        engine=EngineSettings(bundle_dir=str(tiny_bundle), slot_count=8, threads=1),
    )


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    """A running server. After the test, every slot and every place must be free again."""
    async with App(settings) as app:
        yield app
        await idle(app)


@pytest.fixture
async def client(app: App) -> AsyncIterator[AsyncClient]:
    """A client of it that never tries again."""
    async with AsyncClient(f"127.0.0.1:{app.port}", ONCE) as client:
        yield client


@pytest.fixture
async def stub(app: App) -> AsyncIterator[TextToSpeechServiceStub]:
    """The bare contract, for requests that no client library would send."""
    async with aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        yield TextToSpeechServiceStub(channel)


def with_admission(settings: Settings, **changes: float) -> Settings:
    """The same settings with other limits of admission."""
    return dataclasses.replace(settings, admission=dataclasses.replace(settings.admission, **changes))


def gauge(app: App, name: str) -> float:
    """What a metric of the server says now."""
    value = app.metrics.registry.get_sample_value(name)
    assert value is not None, name
    return value


async def idle(app: App, timeout_s: float = 10.0) -> None:
    """Returns when nothing is spoken any more; fails if a slot or a place is lost."""
    async with asyncio.timeout(timeout_s):
        while gauge(app, "tts_active_streams") or gauge(app, "tts_slots_in_use"):  # noqa: ASYNC110 - a metric has no event
            await asyncio.sleep(0.01)
    app.check_integrity()
