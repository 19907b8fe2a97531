"""Sessions in C++ from Python: what is captured, what is refused, and the real library where there is no GPU."""

import ctypes
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.trt_engines.gpu_double import GpuDouble
from trt_engines.cuda.errors import CudaError, CudaOutOfMemoryError
from trt_engines.errors import BackendError
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.native_plan_session import NativePlanContext, NativePlanSession
from trt_engines.tensorrt.plan_session import DeviceCopy

pytestmark = pytest.mark.timeout(1800)  # a minute to compile on an idle machine, many beside other work

STREAM = 7
OpenSession = Callable[..., NativePlanSession]
IN_PLACE = "in k\nout k_out\n"


@pytest.fixture
def open_session(
    antiphon_native: ModuleType, libcuda_double: Path, nvinfer_double: Path, tmp_path: Path
) -> OpenSession:
    """Opens plans of the double's own kind."""

    def open_one(lines: str = IN_PLACE) -> NativePlanSession:
        plan = tmp_path / "step.plan"
        plan.write_text(f"double\n{lines}", encoding="utf-8")
        return NativePlanSession(antiphon_native, plan, str(nvinfer_double), cuda_library=str(libcuda_double))

    return open_one


class Device:
    """Device memory in numpy: a cache of six numbers, a place to copy it to, and scratch memory."""

    def __init__(self) -> None:
        self.cache = np.zeros(6, np.int32)
        self.copied = np.zeros(6, np.int32)
        self._scratch = np.zeros(16384, np.uint8)

    def context(self, session: NativePlanSession) -> NativePlanContext:
        """Open a context bound to the cache, in place."""
        scratch = -(-self._scratch.ctypes.data // 256) * 256
        addresses = dict.fromkeys(("k", "k_out"), self.cache.ctypes.data)
        workspace = (scratch, session.workspace_bytes(1))
        return session.open_context(1, {"k": (2, 3)}, addresses, workspace, STREAM)


def test_a_captured_run_is_replayed_in_place(open_session: OpenSession, libcuda_double: Path) -> None:
    """The graph adds one at each launch and copies behind it; whoever owns the memory gives it back."""
    device, gpu, cuda = Device(), GpuDouble(), ctypes.CDLL(str(libcuda_double))
    context = device.context(open_session())
    context.run(STREAM)
    copy = DeviceCopy(device.copied.ctypes.data, device.cache.ctypes.data, device.cache.nbytes)
    graph = context.captured(DeviceMemory(gpu), STREAM, [copy])
    assert graph is not None
    for _ in range(200):
        assert cuda.cuGraphLaunch(ctypes.c_void_p(graph), ctypes.c_void_p(STREAM)) == 0
    assert cuda.cuStreamSynchronize(ctypes.c_void_p(STREAM)) == 0
    assert [201] * 6 == device.cache.tolist()
    assert [201] * 6 == device.copied.tolist()
    assert (6,) == context.shape("k_out")


def test_closing_gives_everything_back(open_session: OpenSession, nvinfer_double: Path) -> None:
    """A session that is closed before its context leaves it what it needs; then nothing of TensorRT is left."""
    alive = ctypes.CDLL(str(nvinfer_double)).nvinfer_double_alive
    before, session = alive(), open_session()
    context = Device().context(session)
    session.close()
    assert (6,) == context.shape("k_out")
    context.close()
    assert before == alive()


def test_refusals_are_our_errors_in_tensorrts_words(
    open_session: OpenSession, caplog: pytest.LogCaptureFixture
) -> None:
    """A refused run, a full GPU and a tensor in host memory are told apart; warnings go to the log."""
    caplog.set_level(logging.WARNING)
    device = Device()
    with pytest.raises(BackendError, match=r"step.plan, profile 1 refuses to run: Error Code 3: the run"):
        device.context(open_session(f"{IN_PLACE}refuse run\n")).run(STREAM)
    with pytest.raises(CudaOutOfMemoryError, match="OutOfMemory"):
        device.context(open_session(f"{IN_PLACE}full\n"))
    with pytest.raises(BackendError, match=r"step.plan wants n in host memory"):
        open_session("in k\nhost n\n")
    assert "a warning" in caplog.text


def test_without_a_driver_tensorrt_is_not_opened(
    antiphon_native: ModuleType, nvinfer_double: Path, tmp_path: Path
) -> None:
    """The sentence says what to install."""
    (tmp_path / "step.plan").write_bytes(b"double\n")
    missing = "libcuda-that-is-not-there.so.1"
    with pytest.raises(CudaError, match="Install an NVIDIA driver"):
        NativePlanSession(antiphon_native, tmp_path / "step.plan", str(nvinfer_double), cuda_library=missing)


_WITH_THE_REAL_LIBRARY = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("antiphon_native", sys.argv[1])
native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native)
try:
    native.PlanSession(cuda_library=sys.argv[2], tensorrt_library=sys.argv[3], name="p", plan=b"x" * 64,
                       allows_host_code=False)
except RuntimeError as error:
    print(error)
"""


def test_the_real_library_without_a_gpu_is_a_sentence(antiphon_native: ModuleType, libcuda_double: Path) -> None:
    """NVIDIA's runtime, made where its CUDA finds no GPU, would end the process; the session says why instead."""
    library = os.environ.get("TENSORRT_LIBRARY", "")
    if not library or not hasattr(antiphon_native, "PlanSession"):
        pytest.skip("TENSORRT_LIBRARY, a libnvinfer.so or libnvinfer_lean.so, and TENSORRT_ROOT are not both set")
    command = [
        sys.executable,
        "-c",
        _WITH_THE_REAL_LIBRARY,
        str(antiphon_native.__file__),
        str(libcuda_double),
        library,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert 0 == run.returncode, run.stderr
    sentences = (
        "TensorRT's runtime cannot be made: ",
        "TensorRT cannot load p: ",
        "antiphon-native was built for TensorRT",
    )
    assert any(sentence in run.stdout for sentence in sentences)
