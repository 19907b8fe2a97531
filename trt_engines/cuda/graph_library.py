"""The functions of the CUDA driver library that capture and launch graphs, for packages that lack them."""

import ctypes

from trt_engines.cuda.errors import CudaError, CudaUnavailableError

_THREAD_LOCAL = 1
_LIBRARY = "libcuda.so.1"


class GraphLibrary:
    """Stream capture and graphs through the driver's own C interface; handles are those of any other CUDA package.

    Raises:
        CudaUnavailableError: the library is not there.
    """

    def __init__(self, library: str = _LIBRARY) -> None:
        try:
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise CudaUnavailableError(
                f"The CUDA driver's library cannot be opened ({error}). Install an NVIDIA driver."
            ) from error

    def _call(self, function: str, *arguments: object) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            raise CudaError(f"{function} failed: CUresult {status}.")

    def begin_capture(self, stream: int) -> None:
        """Record what is put on the stream, by this thread, instead of running it."""
        self._call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), ctypes.c_int(_THREAD_LOCAL))

    def end_capture(self, stream: int) -> int:
        """Return the recorded work as an executable graph."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        try:
            self._call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        finally:
            self._call("cuGraphDestroy", graph)
        return executable.value or 0

    def abandon_capture(self, stream: int) -> None:
        """End a capture and forget what was recorded."""
        graph = ctypes.c_void_p()
        self._library.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph))
        if graph:
            self._library.cuGraphDestroy(graph)

    def launch(self, graph: int, stream: int) -> None:
        """Put a graph on the stream."""
        self._call("cuGraphLaunch", ctypes.c_void_p(graph), ctypes.c_void_p(stream))

    def destroy(self, graph: int) -> None:
        """Give a graph back."""
        self._call("cuGraphExecDestroy", ctypes.c_void_p(graph))
