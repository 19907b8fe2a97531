"""A server on the tiny bundle in a process of its own, for clients without an event loop."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.server_process import ROOT, environment


@contextlib.contextmanager
def blocking_server(bundle_dir: Path, **settings: object) -> Iterator[str]:
    """Starts a server and yields its address."""
    command, variables = [sys.executable, "-m", "server"], environment(bundle_dir, **settings)
    with subprocess.Popen(command, env=variables, cwd=ROOT, stderr=subprocess.PIPE) as process:
        try:
            yield f"127.0.0.1:{_port(process)}"
        finally:
            process.terminate()


def _port(process: subprocess.Popen[bytes]) -> int:
    assert process.stderr is not None
    for line in process.stderr:
        facts = json.loads(line) if line.startswith(b"{") else {}
        if facts.get("event") == "serving":
            # The rest of the log is read so that the pipe never fills.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return int(facts["port"])
    raise AssertionError("the server ended before it served")
