"""`antiphon build-engines`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trt_engines.engine_options import Backend
from trt_engines.errors import EngineError

if TYPE_CHECKING:  # needs onnx, which serving does not
    from build_engines.tensorrt.plan_options import PlanOptions
    from trt_engines.tensorrt.flavor import FlavorName
    from trt_engines.tensorrt.plan_manifest import Precision

_BAR_COLUMNS = 30


def plan_options(
    backend: "FlavorName",
    targets: tuple[str, ...],
    precision: "Precision",
    slot_count: int,
    max_positions: int | None,
    optimization_level: int,
    *,
    hardware_compatible: bool,
    version_compatible: bool,
) -> "PlanOptions":
    """What the command line asked for."""
    _need_onnx(backend)
    from build_engines.tensorrt.plan_options import PlanOptions

    return PlanOptions(
        flavor=backend,
        targets=targets,
        precision=precision,
        slot_count=slot_count,
        vocode_rows=min(slot_count, 32),
        max_positions=max_positions,
        optimization_level=optimization_level,
        is_hardware_compatible=hardware_compatible,
        is_version_compatible=version_compatible,
    )


def run(bundle: Path, plans_dir: Path | None, options: "PlanOptions") -> None:
    """Builds, or exits with the sentence that says what is wrong."""
    from build_engines.tensorrt.build_plans import build_plans

    progress = _show_progress if sys.stderr.isatty() else None
    try:
        build_plans(bundle, plans_dir if plans_dir is not None else bundle / "plans", options, print, progress)
    except (EngineError, ValueError) as error:
        sys.exit(f"antiphon: {error}")


def _need_onnx(backend: Backend) -> None:
    try:
        import onnx  # noqa: F401 # to see whether it is there
    except ModuleNotFoundError:
        sys.exit(f"antiphon: building plans needs onnx, which is not installed: `pip install 'antiphon[{backend}]'`.")


def _show_progress(phase: str, step: int, step_count: int) -> None:
    """Draws one line over and over."""
    done = _BAR_COLUMNS * step // max(step_count, 1)
    bar = "#" * done + "." * (_BAR_COLUMNS - done)
    sys.stderr.write(f"\r[{bar}] {phase[:40]:40}" + ("\r\033[K" if step == step_count else ""))
    sys.stderr.flush()
