"""How full and how busy the GPU is, by NVIDIA's management library."""

import importlib
from typing import Any


class GpuMonitor:
    """Figures of one GPU, read afresh at each call.

    Raises:
        ImportError: `nvidia-ml-py` is not installed.
    """

    def __init__(self, device_index: int = 0) -> None:
        self._nvml: Any = importlib.import_module("pynvml")
        self._nvml.nvmlInit()
        self._device = self._nvml.nvmlDeviceGetHandleByIndex(device_index)

    def memory_bytes(self) -> float:
        """Return the GPU's memory."""
        return float(self._nvml.nvmlDeviceGetMemoryInfo(self._device).total)

    def memory_used_bytes(self) -> float:
        """Return how much of it is taken, by whomever."""
        return float(self._nvml.nvmlDeviceGetMemoryInfo(self._device).used)

    def utilization(self) -> float:
        """Return the share of the last moments in which some kernel ran, 0 to 1."""
        return float(self._nvml.nvmlDeviceGetUtilizationRates(self._device).gpu) / 100


def open_gpu_monitor(device_index: int = 0) -> GpuMonitor | None:
    """Return a monitor, or None where the library, the driver or the GPU is missing."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        return GpuMonitor(device_index)
    except nvml.NVMLError:
        return None
