"""`antiphon serve`."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from server.config import load_settings
from server.errors import SettingsError
from trt_engines.errors import EngineError


def run(settings_file: Path | None, chosen: Mapping[str, str]) -> None:
    """Serves until a signal ends it.

    Args:
        settings_file: TOML file with settings.
        chosen: Options of the command line, by the names of the variables they win over.
    """
    try:
        settings = load_settings(settings_file, {**os.environ, **chosen})
        from server.__main__ import run as run_server  # only now: settings that are wrong are told at once

        sys.exit(run_server(settings))
    except (SettingsError, EngineError) as error:
        sys.exit(f"antiphon: {error}")
