"""`antiphon voices`."""

import asyncio
import sys

from antiphon.say import explained
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import AntiphonError
from antiphon_client.options import ConnectionOptions
from antiphon_client.voice import Voice


def run(server: str, connection: ConnectionOptions, language: str) -> None:
    """Prints the voices of a server as a table."""
    try:
        voices = asyncio.run(_voices(server, connection, language))
    except AntiphonError as error:
        sys.exit(explained(error, server))
    rows = [("NAME", "LANGUAGES", "RATE", "LICENSE", "DESCRIPTION"), *map(_row, voices)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


async def _voices(server: str, connection: ConnectionOptions, language: str) -> list[Voice]:
    async with AsyncClient(server, connection) as client:
        return await client.voices(language)


def _row(voice: Voice) -> tuple[str, ...]:
    name = f"{voice.name} (default)" if voice.is_default else voice.name
    return name, ", ".join(voice.languages), f"{voice.sample_rate_hz} Hz", voice.license, voice.description
