"""The step loop in C++: a thread that never needs the interpreter, so that busy Python code cannot delay a step."""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from trt_engines.cuda.errors import CudaError
from trt_engines.tensorrt.block_layout import BlockLayout
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.step_loop import RowFrame
from trt_engines.tensorrt.talker_memory import TalkerMemory

DEPTH_FRAMES = 8
"""How far a row may run ahead: enough to bridge a wait for the interpreter; a row that ends wastes as many steps."""

_BLOCK_COUNT = 2
_SEED_MASK = (1 << 64) - 1


def native_module() -> Any | None:  # noqa: ANN401 # a compiled module without types
    """Return the module `antiphon_native`, or None if it is not installed."""
    try:
        return importlib.import_module("antiphon_native")
    except ModuleNotFoundError:
        return None


class NativeStepLoop:
    """A `StepLoop` that runs several steps ahead, in a thread of its own.

    Raises:
        CudaError: the driver's library cannot be opened; later, the GPU has failed.
    """

    def __init__(
        self,
        native: Any,  # noqa: ANN401
        memory: DeviceMemory,
        graphs: dict[int, int],
        tensors: TalkerMemory,
        stream: int,
        library: str = "libcuda.so.1",
        depth_frames: int = DEPTH_FRAMES,
    ) -> None:
        uploads = [memory.pinned(tensors.uploaded.byte_count) for _ in range(_BLOCK_COUNT)]
        downloads = [memory.pinned(tensors.downloaded.byte_count) for _ in range(_BLOCK_COUNT)]
        self._blocks = (*uploads, *downloads)  # the thread knows only their addresses
        self._frame = tensors.tensors["frame"]
        self._row_ids = tensors.tensors["row_ids_out"]
        self._native = native
        with _in_our_words(native):
            self._loop = native.StepLoop(
                library=library,
                layout=_layout(native, tensors),
                depth=depth_frames,
                stream=stream,
                upload=tensors.uploaded_address,
                download=tensors.downloaded_address,
                uploads=tuple(block.ctypes.data for block in uploads),
                downloads=tuple(block.ctypes.data for block in downloads),
                graphs=sorted(graphs.items()),
            )

    def begin(self, row: int, seed: int, params: Sequence[float], first_index: int, step_count: int) -> None:
        """See `StepLoop`."""
        with _in_our_words(self._native):
            self._loop.begin(row, seed & _SEED_MASK, list(params), first_index, step_count)

    def advance(self, rows: Sequence[int]) -> list[RowFrame]:
        """See `StepLoop`; the interpreter is free while this waits."""
        with _in_our_words(self._native):
            records = self._loop.advance(list(rows))
        size = self._loop.record_bytes
        return [self._row_frame(records[start : start + size]) for start in range(0, len(records), size)]

    def end(self, row: int) -> None:
        """See `StepLoop`."""
        with _in_our_words(self._native):
            self._loop.end(row)

    def settle(self, row: int) -> None:
        """See `StepLoop`; waits for every row that was ended."""
        del row
        with _in_our_words(self._native):
            self._loop.settle()

    def close(self) -> None:
        """See `StepLoop`."""
        self._loop.close()

    def _row_frame(self, record: bytes) -> RowFrame:
        """Read emit, done, finite, a filling byte, the frame and the next row."""
        behind_frame = 4 + self._frame.row_bytes
        frame = np.frombuffer(record[4:behind_frame], self._frame.dtype).reshape(self._frame.shape)
        row_ids = np.frombuffer(record[behind_frame:], np.int32)
        return RowFrame(frame, bool(record[0]), bool(record[1]), bool(record[2]), row_ids)


@contextmanager
def _in_our_words(native: Any) -> Iterator[None]:  # noqa: ANN401
    try:
        yield
    except native.CudaFailure as error:
        raise CudaError(str(error)) from error


def _layout(native: Any, tensors: TalkerMemory) -> Any:  # noqa: ANN401
    layout = native.StepLayout()
    layout.row_count = tensors.row_count
    uploaded, downloaded = tensors.uploaded, tensors.downloaded
    layout.active_offset = uploaded.offsets["active"]
    layout.params_offset, layout.param_count = _columns(uploaded, "params")
    layout.random_offset, layout.random_count = _columns(uploaded, "random")
    layout.upload_bytes, layout.download_bytes = uploaded.byte_count, downloaded.byte_count
    layout.frame_row_bytes = tensors.tensors["frame"].row_bytes
    layout.row_ids_row_bytes = tensors.tensors["row_ids_out"].row_bytes
    for name in ("frame", "emit", "done", "finite"):
        setattr(layout, f"{name}_offset", downloaded.offsets[name])
    layout.row_ids_offset = downloaded.offsets["row_ids_out"]
    return layout


def _columns(layout: BlockLayout, name: str) -> tuple[int, int]:
    """Return offset and columns of a tensor, 0 and 0 for a voice without it."""
    return (layout.offsets[name], layout.fields[name].shape[1]) if name in layout.offsets else (0, 0)
