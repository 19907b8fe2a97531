"""Keeps a result together with the machine, the commit and the command that it came from."""

import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

RESULTS = Path("benchmarks/results")


def record(name: str, data: object) -> None:
    """Write `benchmarks/results/<name>.json`; `data` is anything that JSON can hold."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    origin = {
        "command": f"python -m {sys.argv[0].removeprefix(f'{Path.cwd()}/').removesuffix('.py').replace('/', '.')} "
        + " ".join(sys.argv[1:]),
        "commit": commit.strip(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
        "load_average": round(os.getloadavg()[0], 2),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(f"{json.dumps({**origin, 'data': data}, indent=1)}\n", "utf-8")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
