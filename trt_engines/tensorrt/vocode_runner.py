"""Runs the `vocode` plan on a stream of its own: one context and one CUDA graph per batch and frame bucket."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.graph_tensors import vocode_tensors
from trt_engines.manifest import Manifest
from trt_engines.tensorrt.block_layout import BlockField, BlockLayout
from trt_engines.tensorrt.buckets import covering
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.plan_manifest import PlanProfile
from trt_engines.tensorrt.plan_session import PlanContext, PlanSession
from trt_engines.vocode_items import voice_vectors


@dataclass(frozen=True)
class VocodeRow:
    """One row of a run.

    Attributes:
        frames: [frames, frame width], at most as many as the largest frame bucket.
        is_last: whether the segment ends with them.
        seed: of the segment, below 2**31.
        state: device address of the slot's state, read and written; 0 for a vocoder without one.
        voice: float32 [voice width], or None for zeros.
    """

    frames: NDArray[Any]
    is_last: bool
    seed: int
    state: int
    voice: NDArray[np.float32] | None = None


class VocodeRunner:
    """Owns the buffers of one run; every bucket is bound at the same addresses.

    Attributes:
        row_count: rows of the largest run.
        frame_count: frames of the largest run.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        session: PlanSession,
        manifest: Manifest,
        profiles: Sequence[PlanProfile],
        workspace: tuple[int, int],
        stream: int,
    ) -> None:
        self._driver = memory.driver
        self._stream = stream
        self._spec = manifest.vocode
        self._samples_per_frame = manifest.audio.samples_per_frame
        self._row_buckets = tuple(sorted({profile.rows for profile in profiles}))
        self._frame_buckets = tuple(sorted({profile.steps for profile in profiles}))
        self.row_count, self.frame_count = self._row_buckets[-1], self._frame_buckets[-1]
        self._layouts = {profile: self._layout(manifest, profile) for profile in profiles}
        largest = self._layouts[PlanProfile(self.row_count, self.frame_count)]
        sample_count = self.row_count * self.frame_count * self._samples_per_frame
        self._inputs = memory.zeros(largest.byte_count, stream)
        self._samples = memory.zeros(4 * sample_count, stream)
        self._state_bytes = 4 * self._spec.state_width
        self._states = [memory.zeros(max(self.row_count * self._state_bytes, 4), stream) for _ in range(2)]
        self._host_inputs = memory.pinned(largest.byte_count)
        self._host_samples = memory.pinned(4 * sample_count).view(np.float32)
        self._event = memory.event()
        self._graphs: dict[PlanProfile, int] = {}
        self._contexts = {
            profile: self._open(memory, session, index, profile, workspace) for index, profile in enumerate(profiles)
        }

    @staticmethod
    def _layout(manifest: Manifest, profile: PlanProfile) -> BlockLayout:
        sizes = {"N": profile.rows, "F": profile.steps}
        fields = {}
        for spec in vocode_tensors(manifest).inputs:
            if spec.name != "state":
                shape = tuple(sizes[size] if isinstance(size, str) else size for size in spec.shape)
                fields[spec.name] = BlockField(spec.dtype, shape)
        return BlockLayout(fields)

    def _open(
        self, memory: DeviceMemory, session: PlanSession, index: int, profile: PlanProfile, workspace: tuple[int, int]
    ) -> PlanContext:
        layout = self._layouts[profile]
        shapes = {name: field.shape for name, field in layout.fields.items()}
        shapes["state"] = (profile.rows, self._spec.state_width)
        addresses = layout.addresses(self._inputs)
        addresses |= {"state": self._states[0], "state_out": self._states[1], "samples": self._samples}
        context = session.open_context(index, shapes, addresses, workspace, self._stream)
        memory.on_close(context.close)
        context.run(self._stream)
        self._driver.synchronize(self._stream)
        graph = context.captured(memory, self._stream)
        if graph is not None:
            self._graphs[profile] = graph
        return context

    def run(self, rows: Sequence[VocodeRow]) -> NDArray[np.float32]:
        """Run up to `row_count` rows and wait for their samples, float32 [rows, samples of the frame bucket].

        The array is a view of memory that the next run overwrites.
        """
        needed = max(self._frames_needed(row) for row in rows)
        profile = PlanProfile(covering(self._row_buckets, len(rows)), covering(self._frame_buckets, needed))
        self._fill(self._layouts[profile], rows)
        self._driver.upload(self._inputs, self._host_inputs[: self._layouts[profile].byte_count], self._stream)
        self._move_states(rows, inwards=True)
        if profile in self._graphs:
            self._driver.launch(self._graphs[profile], self._stream)
        else:
            self._contexts[profile].run(self._stream)
        self._move_states(rows, inwards=False)
        width = profile.steps * self._samples_per_frame
        samples = self._host_samples[: len(rows) * width]
        self._driver.download(samples, self._samples, self._stream)
        self._driver.record(self._event, self._stream)
        self._driver.wait(self._event)
        return samples.reshape(len(rows), width)

    def _frames_needed(self, row: VocodeRow) -> int:
        """The end of a segment takes further frames, to get out what the look-ahead holds back."""
        flushed = self._spec.lookahead_frames if row.is_last and self._spec.kind == "state" else 0
        return max(1, len(row.frames) + flushed)

    def _fill(self, layout: BlockLayout, rows: Sequence[VocodeRow]) -> None:
        inputs = layout.views(self._host_inputs)
        inputs["frames"][:] = 0
        for index, row in enumerate(rows):
            inputs["frames"][index, : len(row.frames)] = row.frames
        if "count" in inputs:
            inputs["count"][:] = 0
            inputs["count"][: len(rows)] = [len(row.frames) for row in rows]
            inputs["is_last"][:] = False
            inputs["is_last"][: len(rows)] = [row.is_last for row in rows]
            inputs["seed"][:] = 0
            inputs["seed"][: len(rows)] = [row.seed for row in rows]
        if "voice" in inputs:
            inputs["voice"][:] = 0
            inputs["voice"][: len(rows)] = voice_vectors([row.voice for row in rows], self._spec.voice_width)

    def _move_states(self, rows: Sequence[VocodeRow], *, inwards: bool) -> None:
        """Copy what the slots carry over into the run's rows, or back."""
        if not self._state_bytes:
            return
        for index, row in enumerate(rows):
            place = self._states[0 if inwards else 1] + index * self._state_bytes
            target, source = (place, row.state) if inwards else (row.state, place)
            self._driver.copy(target, source, self._state_bytes, self._stream)
