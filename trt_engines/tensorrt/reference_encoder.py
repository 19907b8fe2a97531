"""The encoder of reference audio on TensorRT: any length between the voice's bounds, one at a time."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.cuda.driver import CudaDriver
from trt_engines.manifest import Manifest, ReferenceSpec
from trt_engines.reference_samples import check_reference_samples
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.plan_manifest import PlanProfile
from trt_engines.tensorrt.plan_session import PlanContext, PlanSession

_SAMPLE_BYTES = 4


class TensorrtReferenceEncoder:
    """A `ReferenceEncoder`; see there.

    A voice is made now and then, so a context of the very length is opened for it and no graph is captured; the memory
    for the longest audio is there from the start. Its stream gives way to the steps.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        session: PlanSession,
        manifest: Manifest,
        reference: ReferenceSpec,
        profile: PlanProfile,
        workspace: tuple[int, int],
        stream: int,
    ) -> None:
        self._driver: CudaDriver = memory.driver
        self._session = session
        self._reference = reference
        self._frame = manifest.frame
        self._workspace = workspace
        self._stream = stream
        self._lock = threading.Lock()
        self._event = memory.event()
        self._samples = memory.zeros(profile.steps * _SAMPLE_BYTES, stream)
        self._host_samples = memory.pinned(profile.steps * _SAMPLE_BYTES).view(np.float32)
        self._frames = 0
        # A context tells the shape of its output without running; of the longest, that is the memory to allocate.
        longest = self._open(profile.steps)
        memory.on_close(longest.close)
        byte_count = int(np.prod(longest.shape("frames"))) * np.dtype(manifest.frame.dtype).itemsize
        self._frames = memory.zeros(byte_count, stream)
        self._host_frames = memory.pinned(byte_count).view(np.dtype(manifest.frame.dtype))
        longest.bind("frames", self._frames)
        longest.run(stream)  # whatever TensorRT allocates at first, it allocates now

    def encode(self, samples: NDArray[np.float32]) -> NDArray[Any]:
        """Return the frames of reference samples.

        Raises:
            EngineError: The samples are not one channel, too short, too long, or not finite.
            CudaOutOfMemoryError: The GPU is full; nothing else is harmed.
        """
        check_reference_samples(samples, self._reference)
        with self._lock, self._driver.attached():
            context = self._open(len(samples))
            try:
                return self._run(context, samples)
            finally:
                context.close()

    def _run(self, context: PlanContext, samples: NDArray[np.float32]) -> NDArray[Any]:
        _, frame_count, width = context.shape("frames")
        staged = self._host_samples[: len(samples)]
        staged[:] = samples
        self._driver.upload(self._samples, staged, self._stream)
        context.run(self._stream)
        frames = self._host_frames[: frame_count * width]
        self._driver.download(frames, self._frames, self._stream)
        self._driver.record(self._event, self._stream)
        self._driver.wait(self._event)
        return frames.reshape(frame_count, width).copy()

    def _open(self, sample_count: int) -> PlanContext:
        addresses = {"samples": self._samples, "frames": self._frames}
        return self._session.open_context(0, {"samples": (1, sample_count)}, addresses, self._workspace, self._stream)
