"""`antiphon demo`: a server in this process, one utterance through its real gRPC stream, a WAV file, and figures."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from antiphon_client.aio import AsyncClient
from antiphon_client.errors import AntiphonError
from antiphon_client.options import SpeechOptions
from antiphon_client.player import PlaybackError, Player
from antiphon_client.wav import WAV_HEADER_BYTES
from server.app import App
from server.config import EngineSettings, ListenSettings, LogSettings, Settings
from server.errors import AntiphonError as ServerSideError
from server.logs import configure_logs
from trt_engines.errors import EngineError

_ALL_AT_ONCE_S = 3600.0
_BY_HAND = """
By hand:
  antiphon serve                                the server, until Ctrl-C
  antiphon say "Your own sentence." -o out.wav  a client, in another terminal
  python clients/mic_demo.py                    talk to it while it speaks"""


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    ttfa_s: float
    elapsed_s: float
    audio_s: float
    sample_rate_hz: int

    @property
    def rtf(self) -> float:
        """Real-time factor: time to make the speech over its length."""
        return self.elapsed_s / self.audio_s


def run(text: str, out: Path, bundle: Path | None) -> None:
    """Speaks and reports, or exits with a sentence if that fails."""
    settings = Settings(
        listen=ListenSettings(port=0, metrics_port=-1),
        engine=EngineSettings(bundle_dir=str(bundle or "")),
        log=LogSettings(level="warning"),
    )
    configure_logs(settings.log)
    try:
        asyncio.run(_demo(settings, text, out.resolve()))
    except (AntiphonError, ServerSideError, EngineError) as error:
        sys.exit(f"antiphon: {error}")


async def _demo(settings: Settings, text: str, out: Path) -> None:
    began_s = time.perf_counter()
    async with App(settings) as app:
        print(f"Server ready in {time.perf_counter() - began_s:.1f} s on 127.0.0.1:{app.port}.")
        async with AsyncClient(f"127.0.0.1:{app.port}") as client:
            figures = await _speak(client, text, out)
            print(f"Time to first audio  {1000 * figures.ttfa_s:.0f} ms")
            print(f"Real-time factor     {figures.rtf:.3f} ({figures.audio_s:.2f} s in {figures.elapsed_s:.2f} s)")
            print(f"Written to           {out}")
    await _play(await asyncio.to_thread(out.read_bytes), figures.sample_rate_hz)
    print(_BY_HAND)


async def _speak(client: AsyncClient, text: str, out: Path) -> Figures:
    began_s = time.perf_counter()
    speech = client.speak(_words(text), SpeechOptions(max_lead_s=_ALL_AT_ONCE_S))
    audio_s = await speech.save(out)
    if speech.ttfa_s is None or speech.started is None:
        raise AntiphonError("There is nothing to speak in this text; give it some words.")
    return Figures(speech.ttfa_s, time.perf_counter() - began_s, audio_s, speech.started.sample_rate_hz)


async def _words(text: str) -> AsyncIterator[str]:
    """The text as a language model would send it: word by word."""
    for word in text.split(" "):
        yield f"{word} "


async def _play(wav: bytes, sample_rate_hz: int) -> None:
    try:
        player = Player(sample_rate_hz)
    except PlaybackError as error:
        print(f"Not played           {error}")
        return
    try:
        player.write(wav[WAV_HEADER_BYTES:])
        player.end()
        await player.drain()
    finally:
        player.close()
