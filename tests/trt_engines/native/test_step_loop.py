"""The C++ step loop under the sanitizers, against a libcuda of our own."""

import subprocess
from pathlib import Path

import pytest

from tests.trt_engines.native.conftest import NATIVE, TESTS, compiled

pytestmark = pytest.mark.timeout(1800)  # a minute to compile on an idle machine, many beside other work


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_loop_keeps_its_promises_under(sanitizer: str, tmp_path: Path) -> None:
    """Order, random numbers, flags, re-used rows, two steps in flight, failures: no leak, no race, no undefined act."""
    flags = (f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-lpthread", "-ldl")
    double = compiled([TESTS / "libcuda_double.cpp"], tmp_path / "libcuda_double.so", "-shared", "-fPIC", *flags)
    sources = [TESTS / "step_loop_test.cpp", *(NATIVE / "src" / name for name in ("step_loop.cpp", "cuda_library.cpp"))]
    program = compiled([*sources, double], tmp_path / "step_loop_test", f"-Wl,-rpath,{tmp_path}", *flags)
    run = subprocess.run([program, double], capture_output=True, text=True, check=False, timeout=300)
    assert (0, "", "") == (run.returncode, run.stdout, run.stderr)
