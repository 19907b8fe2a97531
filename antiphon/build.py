"""`antiphon build`: hands its arguments to `build_engines`, which needs torch and onnx."""

import sys
from collections.abc import Sequence

_EXTRA_MODULES = {"ml_dtypes", "onnx", "onnxscript", "safetensors", "tiktoken", "torch"}


def run(arguments: Sequence[str]) -> None:
    """Builds, or exits with the name of the extra that is missing."""
    try:
        from build_engines.__main__ import main

        main(arguments)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA_MODULES:
            raise
        sys.exit(f"antiphon: building needs {error.name}, which is not installed: `pip install 'antiphon[build]'`.")
