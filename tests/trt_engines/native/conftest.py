"""Compiles the native module and the doubles under it, once per session, with warnings as errors.

Where the environment has TENSORRT_ROOT, a folder with TensorRT's `include`, the module gets its sessions as well.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.trt_engines.native.nvinfer_stubs import nvinfer_stubs

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


def tensorrt_flags(folder: Path) -> tuple[str, ...]:
    """Return the flags that find TensorRT's headers, and the double's own in `folder`; or skip without TensorRT."""
    root = os.environ.get("TENSORRT_ROOT", "")
    if not root:
        pytest.skip("sessions in C++ are built where TENSORRT_ROOT is set")
    include = Path(root) / "include"
    homes = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    cuda = next((Path(home) / "include" for home in homes if home and (Path(home) / "include").is_dir()), None)
    if cuda is None:
        pytest.skip("TensorRT's headers need CUDA's, which this machine lacks; set CUDA_HOME")
    (folder / "nvinfer_stubs.h").write_text(nvinfer_stubs(include), encoding="utf-8")
    return ("-isystem", str(include), "-isystem", str(cuda), "-isystem", str(folder))


@pytest.fixture(scope="session")
def nvinfer_double(libcuda_double: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A TensorRT of our own that puts its work on the libcuda double."""
    folder = tmp_path_factory.mktemp("nvinfer")
    flags = (*tensorrt_flags(folder), "-shared", "-fPIC", f"-Wl,-rpath,{libcuda_double.parent}")
    return compiled([TESTS / "nvinfer_double.cpp", libcuda_double], folder / "libnvinfer_double.so", *flags)


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
