"""`python -m server [settings.toml]`: serves until SIGTERM. `antiphon serve` has options for the common settings."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from server.app import serve
from server.config import Settings, load_settings
from server.errors import SettingsError
from server.logs import configure_logs
from trt_engines.errors import EngineError


def main() -> None:
    """Reads the settings, serves, and exits with 0 after a clean drain."""
    parser = argparse.ArgumentParser(prog="python -m server", description="Serve speech over gRPC.")
    parser.add_argument("settings", nargs="?", type=Path, help="TOML file; variables such as ANTIPHON_LISTEN__PORT win")
    arguments = parser.parse_args()
    try:
        sys.exit(run(load_settings(arguments.settings, os.environ)))
    except (SettingsError, EngineError) as error:
        sys.exit(f"antiphon: {error}")


def run(settings: Settings) -> int:
    """Serves on the fastest event loop there is; returns the exit code.

    Raises:
        SettingsError, EngineError: The server cannot start.
    """
    configure_logs(settings.log)
    if sys.platform == "win32":
        return asyncio.run(serve(settings))
    import uvloop

    return uvloop.run(serve(settings))


if __name__ == "__main__":
    main()
