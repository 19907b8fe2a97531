"""Speaks texts through the real server and the real client, for judges to hear."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from antiphon_client.aio import AsyncClient
from antiphon_client.events import SegmentFinished
from antiphon_client.options import Encoding, SpeechOptions
from server.app import App
from server.config import EngineSettings, ListenSettings, LogSettings, Settings

SAMPLE_RATE_HZ = 24_000
Samples = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Said:
    """One text, spoken.

    Attributes:
        samples: float32 [samples] at `SAMPLE_RATE_HZ`.
        segments: what the server told about each segment.
    """

    samples: Samples
    segments: tuple[SegmentFinished, ...]

    @property
    def unspoken(self) -> tuple[str, ...]:
        """The pieces that the server reported it could not speak."""
        return tuple(part for segment in self.segments for part in segment.unspoken)


async def say_all(bundle: Path, texts: list[str], seed: int, voice: str = "") -> list[Said]:
    """Speak every text through a server on `bundle`, one after another; an empty voice is the default one."""
    settings = Settings(
        listen=ListenSettings(port=0, metrics_port=-1),
        engine=EngineSettings(bundle_dir=str(bundle)),
        log=LogSettings(level="warning"),
    )
    options = SpeechOptions(voice=voice, encoding=Encoding.FLOAT32, seed=seed, max_lead_s=3600.0)
    said = []
    async with App(settings) as app, AsyncClient(f"127.0.0.1:{app.port}") as client:
        for text in tqdm(texts, desc="voice"):
            speech = client.speak(text, options)
            audio = b"".join([chunk.audio async for chunk in speech])
            said.append(Said(np.frombuffer(audio, np.float32), tuple(speech.segments)))
    return said
