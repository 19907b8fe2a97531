"""`antiphon say`: text of the command line or of standard input, spoken by a server that is running."""

import asyncio
import sys
from pathlib import Path

from antiphon_client.aio import AsyncClient
from antiphon_client.errors import AntiphonError, ServerUnavailableError
from antiphon_client.options import ConnectionOptions, SpeechOptions
from antiphon_client.player import Player
from antiphon_client.speech import Speech
from antiphon_client.stdin import standard_input

_FILE_LEAD_S = 3600.0


def connection(api_key: str, tls: bool) -> ConnectionOptions:
    """How the options of the command line ask to connect."""
    return ConnectionOptions(api_key=api_key, tls=tls)


def speech_options(voice: str, seed: int | None, temperature: float | None, is_file: bool) -> SpeechOptions:
    """How the options of the command line ask to speak; a file takes the audio as fast as it is made."""
    max_lead_s = _FILE_LEAD_S if is_file else None
    return SpeechOptions(voice=voice, seed=seed, temperature=temperature, max_lead_s=max_lead_s)


def run(server: str, connection: ConnectionOptions, text: str, options: SpeechOptions, out: Path | None) -> None:
    """Speaks, and exits with a sentence if that fails."""
    try:
        asyncio.run(_say(server, connection, text, options, out))
    except KeyboardInterrupt:
        sys.exit(130)
    except AntiphonError as error:
        sys.exit(explained(error, server))


def explained(error: AntiphonError, server: str) -> str:
    """An error as a sentence for the terminal; says what to do when no server answers."""
    if isinstance(error, ServerUnavailableError) and not error.reason:
        return f"antiphon: no server answers at {server}. Start one with `antiphon serve`, or name one with --server."
    return f"antiphon: {error}"


async def _say(server: str, connection: ConnectionOptions, text: str, options: SpeechOptions, out: Path | None) -> None:
    async with AsyncClient(server, connection) as client:
        speech = client.speak(standard_input() if text == "-" else text, options)
        if out is None:
            await play(speech)
        else:
            duration_s = await speech.save(out)
            print(f"{out}: {duration_s:.2f} s of speech, first audio after {1000 * (speech.ttfa_s or 0):.0f} ms")


async def play(speech: Speech) -> Player | None:
    """Plays a speech while it arrives, to its end; None if there was no audio."""
    player: Player | None = None
    try:
        async for chunk in speech:
            if player is None and speech.started is not None:
                player = Player(speech.started.sample_rate_hz)
            if player is not None:
                player.write(chunk.audio)
        if player is not None:
            player.end()
            await player.drain()
    finally:
        if player is not None:
            player.close()
    return player
