"""Taking denormal numbers for zeros, because arithmetic on them can be a hundred times slower.

ONNX Runtime's option for it reaches only the thread that opens the first session of a process, which would make
results depend on the thread. So the control word of the floating-point unit is set by C's own functions, around each
run; on a system not known here nothing is done, on any thread.
"""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ENVIRONMENT_BYTES = 256  # more than C's fenv_t has anywhere
# Of each machine: where fenv_t of Linux keeps the control word, and its bits for "flush to zero" of all kinds.
_CONTROL_WORDS = {"x86_64": (28, 1 << 15 | 1 << 6), "aarch64": (0, 1 << 24)}
_PLACE, _BITS = _CONTROL_WORDS.get(platform.machine() if sys.platform == "linux" else "", (0, 0))
_C = ctypes.PyDLL(None) if _BITS else None  # PyDLL keeps Python's lock: these calls are shorter than handing it over


@contextmanager
def denormals_flushed() -> Iterator[None]:
    """Flush denormals on the calling thread, then leave the thread as it was."""
    if _C is None:
        yield
        return
    before = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
    _C.fegetenv(before)
    flushing = ctypes.create_string_buffer(before.raw, _ENVIRONMENT_BYTES)
    ctypes.c_uint32.from_buffer(flushing, _PLACE).value |= _BITS
    _C.fesetenv(flushing)
    try:
        yield
    finally:
        _C.fesetenv(before)
