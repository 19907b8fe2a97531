"""A server of our own in another process, on a free port, for benchmarks over real sockets."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from antiphon_client.errors import AntiphonError
from antiphon_client.options import ConnectionOptions, Retry
from antiphon_client.sync import Client

START_TIMEOUT_S = 60.0


@contextlib.contextmanager
def running_server(bundle: Path, settings: Mapping[str, str] | None = None) -> Iterator[tuple[str, int]]:
    """Start a server and yield its target and process id; it is asked to drain at the end.

    Args:
        bundle: directory of the voice bundle.
        settings: further `ANTIPHON_` variables, by the name behind that prefix.
    """
    target = f"127.0.0.1:{free_port()}"
    chosen = {
        "LISTEN__PORT": target.rsplit(":", 1)[1],
        "LISTEN__METRICS_PORT": "-1",
        "ENGINE__BUNDLE_DIR": str(bundle),
        "LOG__LEVEL": "warning",
        **(settings or {}),
    }
    environment = {**os.environ, **{f"ANTIPHON_{name}": value for name, value in chosen.items()}}
    process = subprocess.Popen([sys.executable, "-m", "server"], env=environment)
    try:
        _wait_until_ready(target, process)
        yield target, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=START_TIMEOUT_S)


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(target: str, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            with Client(target, ConnectionOptions(retry=Retry(attempt_count=1))) as client:
                client.voices()
                return
        except AntiphonError:
            time.sleep(0.1)
    raise RuntimeError(f"The server did not come up within {START_TIMEOUT_S:.0f} s; its own output says why.")
