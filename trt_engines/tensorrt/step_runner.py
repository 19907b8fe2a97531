"""Puts one step of the first rows on the stream: one execution context and one captured CUDA graph per bucket."""

import logging
from collections.abc import Sequence

from trt_engines.cuda.driver import CudaDriver
from trt_engines.tensorrt.buckets import covering
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.plan_manifest import PlanProfile
from trt_engines.tensorrt.plan_session import DeviceCopy, PlanContext, PlanSession
from trt_engines.tensorrt.talker_memory import TalkerMemory

_LOG = logging.getLogger(__name__)


class StepRunner:
    """Binds every bucket at the same addresses, runs each once, and captures it.

    Attributes:
        buckets: batch sizes that can be run, ascending.
        graphs: the captured graph of each bucket; a bucket is missing where TensorRT's work cannot be captured.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        session: PlanSession,
        profiles: Sequence[PlanProfile],
        tensors: TalkerMemory,
        workspace: tuple[int, int],
        stream: int,
    ) -> None:
        self._driver: CudaDriver = memory.driver
        self._stream = stream
        self._tensors = tensors
        self._contexts: dict[int, PlanContext] = {}
        self.graphs: dict[int, int] = {}
        for index, profile in enumerate(profiles):
            if profile.rows <= tensors.row_count:
                self._open(memory, session, index, profile.rows, workspace)
        self.buckets = tuple(self._contexts)

    def _open(
        self, memory: DeviceMemory, session: PlanSession, profile: int, rows: int, workspace: tuple[int, int]
    ) -> None:
        shapes, addresses = self._tensors.shapes(rows), self._tensors.addresses
        context = session.open_context(profile, shapes, addresses, workspace, self._stream)
        memory.on_close(context.close)
        self._contexts[rows] = context
        self._put_plainly(rows)  # the first run of a shape may allocate and compile, which a capture forbids
        self._driver.synchronize(self._stream)
        graph = context.captured(memory, self._stream, self._copies(rows))
        if graph is None:
            _LOG.warning("The step for %d rows cannot become a CUDA graph and is run kernel by kernel.", rows)
        else:
            self.graphs[rows] = graph

    def bucket(self, row_count: int) -> int:
        """Return the batch size that a run of the first `row_count` rows takes."""
        return covering(self.buckets, row_count)

    def put(self, row_count: int) -> None:
        """Put one step of at least the first `row_count` rows on the stream."""
        bucket = self.bucket(row_count)
        if bucket in self.graphs:
            self._driver.launch(self.graphs[bucket], self._stream)
        else:
            self._put_plainly(bucket)

    def _put_plainly(self, bucket: int) -> None:
        """Run the network, then make its outputs the inputs of the step after this one."""
        self._contexts[bucket].run(self._stream)
        for copy in self._copies(bucket):
            self._driver.copy(copy.target, copy.source, copy.byte_count, self._stream)

    def _copies(self, bucket: int) -> list[DeviceCopy]:
        addresses, tensors = self._tensors.addresses, self._tensors.tensors
        return [
            DeviceCopy(addresses[name], addresses[f"{name}_out"], bucket * tensors[name].row_bytes)
            for name in self._tensors.fed_back
        ]
