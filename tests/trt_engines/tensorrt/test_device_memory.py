"""Memory with one owner: the order in which it is given back, and what happens when that fails."""

import pytest

from tests.trt_engines.gpu_double import GpuDouble
from trt_engines.cuda.errors import CudaError
from trt_engines.errors import BackendError
from trt_engines.tensorrt.device_memory import DeviceMemory


def test_everything_is_given_back_newest_first() -> None:
    """What uses a stream is stopped before the stream is destroyed."""
    gpu, order = GpuDouble(), list[str]()
    with gpu.attached():
        memory = DeviceMemory(gpu)
        stream = memory.stream(is_urgent=True)
        memory.on_close(lambda: order.append(f"urgent {gpu.is_urgent(stream)}"))
        memory.zeros(512, stream)
        memory.close()
    assert ["urgent True"] == order
    gpu.assert_nothing_is_left()


def test_a_gpu_that_has_failed_does_not_keep_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """After a failure every call fails; closing logs that and goes on to the end."""

    def fail() -> None:
        raise CudaError("cuStreamSynchronize failed: CUresult 719.")

    gpu = GpuDouble()
    with gpu.attached():
        memory = DeviceMemory(gpu)
        memory.allocate(256)
        memory.on_close(fail)
        memory.close()
    assert "CUresult 719" in caplog.text
    gpu.assert_nothing_is_left()


def test_a_failed_capture_leaves_a_stream_that_can_be_used() -> None:
    """The error goes on; the stream runs and captures afterwards."""

    def refuse() -> None:
        raise BackendError("step.plan refuses to run")

    gpu = GpuDouble()
    with gpu.attached():
        memory = DeviceMemory(gpu)
        stream = memory.stream(is_urgent=True)
        address = memory.allocate(256)
        with pytest.raises(BackendError, match="refuses to run"):
            memory.captured(stream, refuse)
        graph = memory.captured(stream, lambda: gpu.clear(address, 256, stream))
        gpu.launch(graph, stream)
        gpu.synchronize(stream)
        assert not gpu.view(address, 256).any()
        memory.close()
    gpu.assert_nothing_is_left()
