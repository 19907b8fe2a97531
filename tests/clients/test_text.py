"""Text that can be read again until it is forgotten."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from antiphon_client.text import ReplayableText


async def all_of(text: ReplayableText) -> list[str]:
    """Every piece."""
    return [piece async for piece in text]


async def test_a_second_reader_hears_everything() -> None:
    """Pieces of a one-way source are kept until they are forgotten."""
    text = ReplayableText(iter(["a", "b"]))

    assert ["a", "b"] == await all_of(text)
    assert ["a", "b"] == await all_of(text)
    text.forget()
    assert [] == await all_of(text)
    await text.close()


async def test_a_cancelled_reader_takes_no_piece_with_it() -> None:
    """A reader that is cancelled while it waits leaves the piece to the next reader."""
    come = asyncio.Event()

    async def pieces() -> AsyncIterator[str]:
        yield "a"
        await come.wait()
        yield "b"

    text = ReplayableText(pieces())
    first = asyncio.create_task(all_of(text))
    await asyncio.sleep(0.01)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    come.set()

    assert ["a", "b"] == await all_of(text)
    await text.close()


async def test_a_blocking_iterator_blocks_nobody() -> None:
    """A generator that waits is advanced in another thread."""
    go = threading.Event()

    def pieces() -> Iterator[str]:
        assert go.wait(5)
        yield threading.current_thread().name

    text = ReplayableText(pieces())
    reading = asyncio.create_task(all_of(text))
    await asyncio.sleep(0.01)
    go.set()

    assert [threading.current_thread().name] != await reading
    await text.close()


async def test_closing_ends_a_source_that_waits() -> None:
    """`close` runs the `finally` of a source whose next piece never comes."""
    ended = []

    async def pieces() -> AsyncIterator[str]:
        try:
            await asyncio.sleep(60)
            yield "never"
        finally:
            ended.append(True)

    text = ReplayableText(pieces())
    reading = asyncio.create_task(all_of(text))
    await asyncio.sleep(0.01)
    reading.cancel()
    await asyncio.wait([reading])
    await text.close()

    assert [True] == ended
