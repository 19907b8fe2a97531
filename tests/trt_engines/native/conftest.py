"""Compiles the native loop and the libcuda double, once per session, with warnings as errors."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "trt_engines" / "native"
TESTS = ROOT / "tests" / "trt_engines" / "native"
FLAGS = ("-std=c++20", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")


def compiled(sources: list[Path], target: Path, *flags: str) -> Path:
    """Compile with g++, or skip where there is none."""
    if shutil.which("g++") is None:
        pytest.skip("the native loop is optional and this machine has no g++")
    command = ["g++", *FLAGS, f"-I{NATIVE / 'src'}", *map(str, sources), *flags, "-o", str(target)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return target


@pytest.fixture(scope="session")
def libcuda_double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A libcuda of our own, without a sanitizer."""
    target = tmp_path_factory.mktemp("libcuda") / "libcuda_double.so"
    return compiled([TESTS / "libcuda_double.cpp"], target, "-shared", "-fPIC", "-lpthread")


@pytest.fixture(scope="session")
def antiphon_native(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module, built as its CMake project says."""
    pytest.importorskip("nanobind")
    beside = Path(sys.executable).with_name("cmake")
    cmake = str(beside) if beside.exists() else shutil.which("cmake")
    if cmake is None or shutil.which("g++") is None:
        pytest.skip("the native loop is optional and this machine lacks CMake or g++")
    folder = tmp_path_factory.mktemp("native")
    for arguments in (
        ["-S", str(NATIVE), "-B", str(folder), f"-DPython_EXECUTABLE={sys.executable}"],
        ["--build", str(folder), "--parallel", "2"],
    ):
        made = subprocess.run([cmake, *arguments], capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr
    (library,) = folder.glob("antiphon_native*.so")
    spec = importlib.util.spec_from_file_location("antiphon_native", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
