"""`antiphon selftest`."""

import sys
from pathlib import Path

from server.app import bundle_directory
from server.config import EngineSettings
from trt_engines.engine_options import Backend
from trt_engines.errors import EngineError


def run(bundle: Path | None, backend: Backend, slot_count: int, plans_dir: Path | None, output_dir: Path) -> None:
    """Runs the test; exits with 1 if a limit is broken, or with the sentence that says why nothing could be tested."""
    try:
        from build_engines.selftest.run import Selftest
    except ModuleNotFoundError as error:
        extra = "tensorrt" if backend == "onnxruntime" else backend
        sys.exit(f"antiphon: the self-test needs {error.name}, not installed: `pip install 'antiphon[{extra}]'`.")
    bundle_dir = bundle_directory(EngineSettings(bundle_dir=str(bundle) if bundle is not None else ""))
    plans = plans_dir if plans_dir is not None else bundle_dir / "plans"
    try:
        is_good = Selftest(bundle_dir, backend, slot_count, plans, output_dir, print).run()
    except (EngineError, FileNotFoundError) as error:
        sys.exit(f"antiphon: {error}")
    sys.exit(0 if is_good else 1)
