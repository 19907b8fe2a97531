"""`antiphon bundle inspect`."""

import sys
from pathlib import Path

from trt_engines.bundle_description import describe_bundle
from trt_engines.errors import EngineError


def run(directory: Path) -> None:
    """Prints what a bundle holds, or exits with the sentence that says what is wrong with it."""
    try:
        print(describe_bundle(directory))
    except EngineError as error:
        sys.exit(f"antiphon: {error}")
