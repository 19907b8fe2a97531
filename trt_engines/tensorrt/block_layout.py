"""Several small tensors in one block of memory, so that one copy moves them all."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trt_engines.cuda.driver import HostArray

ALIGNMENT_BYTES = 256


@dataclass(frozen=True)
class BlockField:
    """One tensor of a block."""

    dtype: npt.DTypeLike
    shape: tuple[int, ...]

    @property
    def byte_count(self) -> int:
        """Bytes of the tensor itself."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


class BlockLayout:
    """Where each tensor of a block starts; every one is aligned for TensorRT."""

    def __init__(self, fields: Mapping[str, BlockField]) -> None:
        self.fields = dict(fields)
        self.offsets: dict[str, int] = {}
        end = 0
        for name, field in fields.items():
            self.offsets[name] = end
            end += aligned(field.byte_count)
        self.byte_count = max(end, ALIGNMENT_BYTES)

    def addresses(self, base: int) -> dict[str, int]:
        """Return the address of each tensor in a block at `base`."""
        return {name: base + offset for name, offset in self.offsets.items()}

    def views(self, block: npt.NDArray[np.uint8]) -> dict[str, HostArray]:
        """Return each tensor of a block in host memory."""
        views = {}
        for name, field in self.fields.items():
            start = self.offsets[name]
            views[name] = block[start : start + field.byte_count].view(np.dtype(field.dtype)).reshape(field.shape)
        return views


def aligned(byte_count: int) -> int:
    """Round up to the alignment of device memory."""
    return -(-byte_count // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
