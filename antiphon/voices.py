"""`antiphon voices`: lists, makes and deletes the voices of a server."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from antiphon.say import explained
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import AntiphonError
from antiphon_client.new_voice import NewVoice
from antiphon_client.options import ConnectionOptions
from antiphon_client.voice import Voice

Result = TypeVar("Result")


def run(server: str, connection: ConnectionOptions, language: str) -> None:
    """Prints the voices of a server as a table."""
    voices = _asked(server, connection, lambda client: client.voices(language))
    rows = [("NAME", "LANGUAGES", "RATE", "LICENSE", "DESCRIPTION"), *map(_row, voices)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def create(server: str, connection: ConnectionOptions, voice: NewVoice, recording: Path) -> None:
    """Makes a voice of a file, and says how to hear it."""
    try:
        made = _asked(server, connection, lambda client: client.create_voice(voice, recording))
    except OSError as error:
        sys.exit(f"antiphon: {recording} cannot be read: {error.strerror}.")
    print(f'Voice {made.name} can speak: antiphon say "Good morning." --voice {made.name}')


def delete(server: str, connection: ConnectionOptions, name: str) -> None:
    """Deletes a voice."""
    _asked(server, connection, lambda client: client.delete_voice(name))
    print(f"Voice {name} is deleted.")


def _asked(
    server: str, connection: ConnectionOptions, ask: Callable[[AsyncClient], Coroutine[Any, Any, Result]]
) -> Result:
    """Returns what a server answers; exits with its sentence if it refuses."""

    async def ask_once() -> Result:
        async with AsyncClient(server, connection) as client:
            return await ask(client)

    try:
        return asyncio.run(ask_once())
    except AntiphonError as error:
        sys.exit(explained(error, server))


def _row(voice: Voice) -> tuple[str, ...]:
    name = f"{voice.name} (default)" if voice.is_default else voice.name
    return name, ", ".join(voice.languages), f"{voice.sample_rate_hz} Hz", voice.license, voice.description
