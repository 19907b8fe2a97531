"""The figures of the GPU, and their absence."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tests.trt_engines.gpu_double import GpuDouble
from trt_engines.cuda import gpu_monitor
from trt_engines.cuda.gpu_monitor import open_gpu_monitor


class NvmlDouble(ModuleType):
    """The part of `pynvml` in use."""

    class NVMLError(Exception):
        """Anything that NVML refuses."""

    def __init__(self, *, has_driver: bool) -> None:
        super().__init__("pynvml")
        self.has_driver = has_driver

    def nvmlInit(self) -> None:  # noqa: N802 # NVML's spelling
        """Look for the driver."""
        if not self.has_driver:
            raise self.NVMLError

    def nvmlDeviceGetHandleByPciBusId(self, bus_id: bytes) -> int:  # noqa: N802
        """Return a handle."""
        return {b"00000000:01:00.0": 101}[bus_id]

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802
        """Return bytes."""
        assert handle == 101
        return SimpleNamespace(total=80, used=60)

    def nvmlDeviceGetUtilizationRates(self, _handle: int) -> SimpleNamespace:  # noqa: N802
        """Return per cents."""
        return SimpleNamespace(gpu=37)


def test_figures_are_of_the_gpu_that_cuda_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes and a share of one; NVML is asked by the bus, since it counts GPUs that CUDA does not see."""
    monkeypatch.setitem(sys.modules, "pynvml", NvmlDouble(has_driver=True))
    monkeypatch.setattr(gpu_monitor, "open_driver", lambda device_index: GpuDouble())
    monitor = open_gpu_monitor(1)
    assert monitor is not None
    assert (80.0, 60.0, 0.37) == (monitor.memory_bytes(), monitor.memory_used_bytes(), monitor.utilization())


def test_without_driver_or_library_there_is_no_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised, so that a server on a CPU need not care."""
    monkeypatch.setitem(sys.modules, "pynvml", NvmlDouble(has_driver=False))
    assert open_gpu_monitor() is None  # no driver for CUDA
    monkeypatch.setattr(gpu_monitor, "open_driver", lambda device_index: GpuDouble())
    assert open_gpu_monitor() is None  # none for NVML
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert open_gpu_monitor() is None
