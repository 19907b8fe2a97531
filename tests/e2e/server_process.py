"""A server in a process of its own, for what cannot be shown inside one: signals, exit codes, other event loops."""

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT, ROOT / "clients", ROOT / "proto" / "gen")


class ServerProcess:
    """`python -m server` on any free port.

    Args:
        process: The running process.
        port: Where it listens.
    """

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.port = port
        self.log: list[dict[str, object]] = []
        self._reading = asyncio.create_task(self._read_log())

    @property
    def target(self) -> str:
        """What a client is told."""
        return f"127.0.0.1:{self.port}"

    async def exit_code(self, timeout_s: float = 30.0) -> int:
        """Waits for the end of the process."""
        code = await asyncio.wait_for(self.process.wait(), timeout_s)
        await self._reading
        return code

    async def _read_log(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            if line.startswith(b"{"):
                self.log.append(json.loads(line))


def environment(bundle_dir: Path, **settings: object) -> dict[str, str]:
    """The environment of a server process; `listen__port=0` sets ANTIPHON_LISTEN__PORT."""
    defaults: Mapping[str, object] = {
        "listen__port": 0,
        "listen__metrics_port": -1,
        "engine__bundle_dir": bundle_dir,
        "engine__slot_count": 4,
        "engine__threads": 1,
        "admission__max_load": 0,  # a busy machine refuses nobody
        "log__format": "json",
    }
    chosen = {f"ANTIPHON_{name.upper()}": str(value) for name, value in {**defaults, **settings}.items()}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, SOURCES)), **chosen}


@contextlib.asynccontextmanager
async def server_process(bundle_dir: Path, **settings: object) -> AsyncIterator[ServerProcess]:
    """Starts a server, waits until it serves, and kills it if the test did not end it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "server", env=environment(bundle_dir, **settings), stderr=PIPE, cwd=ROOT
    )
    try:
        assert process.stderr is not None
        facts: dict[str, object] = {}
        said = ""
        while facts.get("event") != "serving":
            line = await asyncio.wait_for(process.stderr.readline(), 60)
            said += line.decode()
            assert line, f"the server ended before it served: {said}"
            facts = json.loads(line) if line.startswith(b"{") else {}
        yield ServerProcess(process, int(str(facts["port"])))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
