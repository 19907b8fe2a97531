"""Standard input as text that becomes known while it is spoken."""

import asyncio
import codecs
import contextlib
import os
import sys
import threading
from collections.abc import AsyncGenerator

_READ_BYTES = 4096


async def standard_input() -> AsyncGenerator[str, None]:
    """Yields what is typed or piped in as soon as it is there, until its end.

    A thread reads, because files and terminals cannot be waited for alike; it does not keep the process alive.
    """
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read, args=(loop, pieces), name="stdin", daemon=True).start()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    while data := await pieces.get():
        if text := decoder.decode(data):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


def _read(loop: asyncio.AbstractEventLoop, pieces: asyncio.Queue[bytes]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed while the read waited
        while data := os.read(sys.stdin.fileno(), _READ_BYTES):
            loop.call_soon_threadsafe(pieces.put_nowait, data)
        loop.call_soon_threadsafe(pieces.put_nowait, b"")
