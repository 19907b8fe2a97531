"""Workers and synthesizers on scripted engines; every test ends with every slot and every place free."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from server.config import AdmissionSettings, SchedulingSettings, Settings
from tests.server.speech_rig import Build, House
from tests.server.worker_rig import WorkerRig


@pytest.fixture
async def make_rig() -> AsyncIterator[Callable[..., WorkerRig]]:
    """Make running workers, and stop them afterwards with every slot free."""
    made: list[WorkerRig] = []

    def make(scheduling: SchedulingSettings | None = None, stall_timeout_s: float = 60.0) -> WorkerRig:
        admission = AdmissionSettings(stall_timeout_s=stall_timeout_s)
        rig = WorkerRig(Settings(scheduling=scheduling or SchedulingSettings(), admission=admission))
        rig.worker.start()
        made.append(rig)
        return rig

    yield make
    for rig in made:
        await asyncio.to_thread(rig.worker.stop)
        rig.worker.check_integrity()


@pytest.fixture
async def build() -> AsyncIterator[Build]:
    """Build synthesizers, and stop them afterwards with every slot and every place free."""
    built: list[House] = []

    def make(scheduling: SchedulingSettings | None = None, **admission: int | float) -> House:
        settings = Settings(
            scheduling=scheduling or SchedulingSettings(), admission=AdmissionSettings(**{"max_load": 0.0, **admission})
        )  # type: ignore[arg-type]
        built.append(House(settings))
        return built[-1]

    yield make
    for house in built:
        await asyncio.wait_for(house.synthesizer.drain(), 10.0)
        await house.synthesizer.stop()
        house.synthesizer.check_integrity()
