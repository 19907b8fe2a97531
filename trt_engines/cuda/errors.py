"""What can go wrong between us and the GPU.

CudaError
├── CudaUnavailableError    no driver, no GPU, or no package to reach them; nothing was touched
└── CudaOutOfMemoryError    an allocation was refused; everything allocated before is still there
"""

from trt_engines.errors import EngineError


class CudaError(EngineError):
    """A call of the CUDA driver failed."""


class CudaUnavailableError(CudaError):
    """There is no GPU to talk to; says what is missing and how to get it."""


class CudaOutOfMemoryError(CudaError):
    """The GPU, or pinned host memory, has no room for one more allocation."""
