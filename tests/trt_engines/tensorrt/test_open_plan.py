"""Which way to TensorRT a plan takes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.trt_engines.gpu_double import GpuDouble
from tests.trt_engines.tensorrt_double import TensorrtDouble
from trt_engines.tensorrt.flavor import Flavor, FlavorName
from trt_engines.tensorrt.native_plan_session import NativePlanSession
from trt_engines.tensorrt.open_plan import open_plan
from trt_engines.tensorrt.plan_session import PlanSession
from trt_engines.tensorrt.python_plan_session import PythonPlanSession


class _Session:
    """A session of the compiled module, with one input and one output on the GPU."""

    tensor_names = ("k", "k_out")

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments

    def is_input(self, tensor: str) -> bool:
        """Tell inputs."""
        return tensor == "k"

    def is_on_device(self, tensor: str) -> bool:
        """Say yes."""
        return bool(tensor)


def _module(major: int) -> Any:
    return SimpleNamespace(
        TENSORRT_MAJOR=major, PlanSession=_Session, take_tensorrt_messages=list,
        TensorrtOutOfMemory=MemoryError, TensorrtFailure=LookupError, CudaFailure=OSError,
    )  # fmt: skip


@pytest.fixture
def plan(small_plans: Path) -> Path:
    """A plan that the Python double can read."""
    return small_plans / "tensorrt-sm89" / "prefill.plan"


def _open(plan: Path, native: Any, name: FlavorName = "tensorrt") -> PlanSession:
    api = TensorrtDouble(GpuDouble())
    return open_plan(Flavor(name, api, api.__version__), native, plan, allows_host_code=True)


def test_a_module_built_for_this_version_takes_the_plan(plan: Path) -> None:
    """It opens the library that the Python package has opened, by the same name."""
    session = _open(plan, _module(11))
    assert isinstance(session, NativePlanSession)
    arguments = session._session.arguments  # what the compiled module was given
    assert ("libnvinfer.so.11", True) == (arguments["tensorrt_library"], arguments["allows_host_code"])
    assert plan.read_bytes() == arguments["plan"]


def test_a_module_built_for_another_version_is_passed_over(plan: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The Python package runs the plan, and the log says how to mend it."""
    assert isinstance(_open(plan, _module(10)), PythonPlanSession)
    assert "built for TensorRT 10 and 11.4.0.106 is installed" in caplog.text


@pytest.mark.parametrize(
    ("native", "flavor"), [(None, "tensorrt"), (SimpleNamespace(), "tensorrt"), (_module(11), "tensorrt-rtx")]
)
def test_everything_else_goes_through_python(plan: Path, native: Any, flavor: FlavorName) -> None:
    """Without the module, with one built for the loop alone, and for RTX, whose headers are its own."""
    assert isinstance(_open(plan, native, flavor), PythonPlanSession)
