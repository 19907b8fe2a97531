"""Which package reaches the GPU, and what is said when none does."""

import pytest

from tests.trt_engines.gpu_double import GpuDouble
from trt_engines.cuda import open_driver as module
from trt_engines.cuda.driver import CudaDriver
from trt_engines.cuda.errors import CudaUnavailableError
from trt_engines.cuda.open_driver import open_driver


def _missing(_index: int) -> CudaDriver:
    raise ImportError("No module named 'pycuda'")


def _driverless(_index: int) -> CudaDriver:
    raise CudaUnavailableError("no driver")


def test_the_first_installed_package_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pycuda, cuda-bindings is used."""
    double = GpuDouble()
    monkeypatch.setattr(module, "_DRIVERS", {"pycuda": _missing, "cuda-bindings": lambda _index: double})
    assert open_driver() is double


def test_no_package_at_all_is_a_sentence_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error repeats why each import failed and what to install."""
    monkeypatch.setattr(module, "_DRIVERS", {"pycuda": _missing})
    with pytest.raises(CudaUnavailableError, match=r"No module named 'pycuda'.*pip install 'antiphon\[tensorrt\]'"):
        open_driver()


def test_a_missing_driver_is_not_hidden_by_the_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is there but finds no driver ends the search."""
    monkeypatch.setattr(module, "_DRIVERS", {"pycuda": _driverless, "cuda-bindings": _missing})
    with pytest.raises(CudaUnavailableError, match="no driver"):
        open_driver()
