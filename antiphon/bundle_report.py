"""`antiphon bundle report`."""

import sys
from pathlib import Path

from trt_engines.errors import EngineError
from trt_engines.manifest_loading import load_manifest
from trt_engines.parity_table import parity_table


def run(directory: Path) -> None:
    """Prints the table, or exits with the sentence that says what is wrong with the bundle."""
    try:
        print(parity_table(load_manifest(directory)))
    except EngineError as error:
        sys.exit(f"antiphon: {error}")
