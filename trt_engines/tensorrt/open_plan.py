"""Which of the two ways to TensorRT a plan takes: C++ where it was built for this version, Python otherwise."""

import logging
from pathlib import Path
from typing import Any

from trt_engines.tensorrt.flavor import Flavor
from trt_engines.tensorrt.native_plan_session import NativePlanSession
from trt_engines.tensorrt.plan_session import PlanSession
from trt_engines.tensorrt.python_plan_session import PythonPlanSession

_LOG = logging.getLogger(__name__)


def open_plan(flavor: Flavor, native: Any | None, plan: Path, *, allows_host_code: bool) -> PlanSession:  # noqa: ANN401
    """Load a plan.

    Args:
        flavor: The package, imported: its library is the one that C++ opens too.
        native: The module `antiphon_native`, or None without it.
        plan: The file.
        allows_host_code: Whether the plan may bring code for the host.

    Raises:
        BackendError: TensorRT refuses the plan.
        CudaOutOfMemoryError: Its weights do not fit.
    """
    major = flavor.version.partition(".")[0]
    built_for = getattr(native, "TENSORRT_MAJOR", None)
    if flavor.name == "tensorrt" and built_for is not None:
        if str(built_for) == major:
            return NativePlanSession(native, plan, f"libnvinfer.so.{major}", allows_host_code=allows_host_code)
        _LOG.warning(
            "antiphon-native was built for TensorRT %s and %s is installed: plans are run through Python. "
            "Build it again with TENSORRT_ROOT set.",
            built_for,
            flavor.version,
        )
    return PythonPlanSession(flavor, plan, allows_host_code=allows_host_code)
