"""Sessions over nvinfer1 in C++ under the sanitizers, against a TensorRT and a libcuda of our own."""

import subprocess
from pathlib import Path

import pytest

from tests.trt_engines.native.conftest import NATIVE, TESTS, compiled, tensorrt_flags

pytestmark = pytest.mark.timeout(1800)  # a minute to compile on an idle machine, many beside other work


def test_sessions_keep_their_promises_under_the_sanitizers(tmp_path: Path) -> None:
    """In-place replay, frozen addresses, failed captures, refusals, lifetimes: no leak and no undefined act."""
    flags = (
        *tensorrt_flags(tmp_path),
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-lpthread",
        "-ldl",
    )
    shared = ("-shared", "-fPIC", f"-Wl,-rpath,{tmp_path}", *flags)
    libcuda = compiled([TESTS / "libcuda_double.cpp"], tmp_path / "libcuda_double.so", *shared)
    nvinfer = compiled([TESTS / "nvinfer_double.cpp", libcuda], tmp_path / "libnvinfer_double.so", *shared)
    names = ("plan_session.cpp", "tensorrt_log.cpp", "cuda_library.cpp")
    sources = [TESTS / "plan_session_test.cpp", *(NATIVE / "src" / name for name in names), nvinfer, libcuda]
    program = compiled(sources, tmp_path / "plan_session_test", f"-Wl,-rpath,{tmp_path}", *flags)
    run = subprocess.run([program, libcuda, nvinfer], capture_output=True, text=True, check=False, timeout=300)
    assert (0, "", "") == (run.returncode, run.stdout, run.stderr)
