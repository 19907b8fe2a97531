"""Making a thread take denormal numbers for zeros, because arithmetic on them can be a hundred times slower.

ONNX Runtime's option for it reaches only the thread that opens the first session of a process, which would make
results depend on the thread. So the control word of the floating-point unit is set by C's own functions; on a system
not known here nothing is done, on any thread.
"""

import ctypes
import platform
import sys

_ENVIRONMENT_BYTES = 256  # more than C's fenv_t has anywhere
# Of each machine: where fenv_t of Linux keeps the control word, and its bits for "flush to zero" of all kinds.
_CONTROL_WORDS = {"x86_64": (28, 1 << 15 | 1 << 6), "aarch64": (0, 1 << 24)}


def flush_denormals() -> None:
    """Flush denormals on the calling thread from now on, where this is known how to do."""
    if sys.platform != "linux" or platform.machine() not in _CONTROL_WORDS:
        return
    place, bits = _CONTROL_WORDS[platform.machine()]
    libc = ctypes.CDLL(None)
    environment = ctypes.create_string_buffer(_ENVIRONMENT_BYTES)
    libc.fegetenv(environment)
    word = ctypes.c_uint32.from_buffer(environment, place)
    word.value |= bits
    libc.fesetenv(environment)
