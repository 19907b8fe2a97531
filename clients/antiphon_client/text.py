"""Text to be spoken, in any form: a string, or pieces from an iterable or an asynchronous iterable."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TypeAlias

Text: TypeAlias = str | Iterable[str] | AsyncIterable[str]


class ReplayableText:
    """Pieces of text that can be read again from the start, until `forget` is called.

    Args:
        text: The text. An iterator that waits (a generator, a file) is advanced in a thread, so it blocks nobody.
    """

    def __init__(self, text: Text) -> None:
        self._source = _pieces(text)
        self._read: list[str] | None = []
        self._next: asyncio.Task[str | None] | None = None

    def forget(self) -> None:
        """Gives up the pieces read so far; the text cannot be read again from now on."""
        self._read = None

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yields all pieces read before, then those that come."""
        for piece in tuple(self._read or ()):
            yield piece
        while (upcoming := await self._advance()) is not None:
            yield upcoming

    async def close(self) -> None:
        """Stops reading the source."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
        await self._source.aclose()

    async def _advance(self) -> str | None:
        if self._next is None:
            self._next = asyncio.create_task(anext(self._source, None))
        # A reader that is cancelled must not end the source: the next reader goes on waiting for the same piece.
        piece = await asyncio.shield(self._next)
        self._next = None
        if piece is not None and self._read is not None:
            self._read.append(piece)
        return piece


async def _pieces(text: Text) -> AsyncGenerator[str, None]:
    if isinstance(text, str):
        yield text
    elif isinstance(text, AsyncIterable):
        async for piece in text:
            yield piece
    elif isinstance(text, Iterator):
        while (upcoming := await asyncio.to_thread(lambda: next(text, None))) is not None:
            yield upcoming
    else:
        for piece in text:
            yield piece
