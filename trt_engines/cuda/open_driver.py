"""Finding a way to the GPU, or saying in one sentence why there is none."""

from collections.abc import Callable
from typing import Literal

from trt_engines.cuda.cuda_bindings_driver import CudaBindingsDriver
from trt_engines.cuda.driver import CudaDriver
from trt_engines.cuda.errors import CudaUnavailableError
from trt_engines.cuda.pycuda_driver import PycudaDriver

CudaPackage = Literal["auto", "pycuda", "cuda-bindings"]

_DRIVERS: dict[str, Callable[[int], CudaDriver]] = {"pycuda": PycudaDriver, "cuda-bindings": CudaBindingsDriver}


def open_driver(package: CudaPackage = "auto", device_index: int = 0) -> CudaDriver:
    """Open the GPU through the named package, or through the first one that is installed.

    This is the probe that comes before TensorRT is touched: without a driver, TensorRT's runtime would end the process.

    Raises:
        CudaUnavailableError: no package, no driver, or no such GPU.
    """
    wanted = list(_DRIVERS) if package == "auto" else [package]
    failures = []
    for name in wanted:
        try:
            return _DRIVERS[name](device_index)
        except ImportError as error:
            failures.append(f"{name}: {error}")
    raise CudaUnavailableError(
        f"No Python package for CUDA can be imported ({'; '.join(failures)}). "
        "Install one: pip install 'antiphon[tensorrt]'."
    )
