"""Calls of a vocoder graph in the middle of a segment, to be timed."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trt_engines.graph_tensors import vocode_tensors
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest
from trt_engines.onnx_runtime.bound_run import BoundRun
from trt_engines.onnx_runtime.session import open_session

ROUNDS = 15
CODES = 100
"""Codes below this number, which every voice has, are vocoded."""
PRODUCT_SIZE = 768


class VocoderCalls:
    """The graph `vocode` of one bundle.

    Attributes:
        name: of the directory.
    """

    def __init__(self, bundle: Path) -> None:
        self.name = bundle.name
        self._manifest = load_manifest(bundle)
        self._session = open_session(bundle, self._manifest.vocode.graph, self._manifest, vocode_tensors)

    def work(self, streams: int, frames: int) -> Callable[[], None]:
        """Return a call of this many streams and frames, none of which begins or ends."""
        inputs = vocode_inputs(streams, frames, self._manifest)
        outputs = {
            "samples": np.empty((streams, frames * self._manifest.audio.samples_per_frame), np.float32),
            "state_out": np.empty_like(inputs["state"]),
        }
        run = BoundRun(self._session, inputs, outputs)
        for _ in range(3):
            run()
            inputs["state"][:] = outputs["state_out"]
        return run


def vocode_inputs(streams: int, frames: int, manifest: Manifest) -> dict[str, NDArray[Any]]:
    """Return the inputs of the first call of some streams, all in the first voice."""
    codes = np.random.default_rng(0).integers(0, CODES, (streams, frames, manifest.frame.width)).astype(np.int32)
    inputs = {
        "frames": codes,
        "count": np.full(streams, frames, np.int32),
        "is_last": np.zeros(streams, np.bool_),
        "seed": np.arange(streams, dtype=np.int32),
        "state": np.zeros((streams, manifest.vocode.state_width), np.float32),
    }
    width = manifest.vocode.voice_width
    return inputs | ({"voice": np.zeros((streams, width), np.float32)} if width else {})


def least_cpu_s(works: Sequence[Callable[[], object]]) -> list[float]:
    """Return the least processor time of this thread for each piece of work, all taking turns."""
    times_s: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, taken in zip(works, times_s, strict=True):
            started_s = time.thread_time()
            work()
            taken.append(time.thread_time() - started_s)
    return [min(taken) for taken in times_s]


def dot_product(byte_count: int) -> Callable[[], object]:
    """Return a read of this many bytes."""
    values = np.ones(byte_count // 4, np.float32)
    return lambda: np.dot(values, values)


def matrix_product() -> Callable[[], object]:
    """Return a product of two large matrices."""
    left, right = np.ones((2, PRODUCT_SIZE, PRODUCT_SIZE), np.float32)
    return lambda: left @ right
