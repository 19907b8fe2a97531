"""How full and how busy the GPU is, by NVIDIA's management library."""

import importlib
from typing import Any

from trt_engines.cuda.errors import CudaUnavailableError
from trt_engines.cuda.open_driver import open_driver


class GpuMonitor:
    """Figures of one GPU, read afresh at each call.

    Args:
        pci_bus_id: Where the GPU sits. NVML counts GPUs in another order than CUDA, and those too that
            CUDA_VISIBLE_DEVICES hides.

    Raises:
        ImportError: `nvidia-ml-py` is not installed.
    """

    def __init__(self, pci_bus_id: str) -> None:
        self._nvml: Any = importlib.import_module("pynvml")
        self._nvml.nvmlInit()
        self._device = self._nvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())

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
    """Return a monitor of the GPU that has this index in CUDA, or None where library, driver or GPU is missing."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        return GpuMonitor(open_driver(device_index=device_index).gpu().pci_bus_id)
    except (CudaUnavailableError, nvml.NVMLError):
        return None
