"""Runs on fixed memory, and that the cache is updated in place."""

import ctypes
import mmap
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.trt_engines.small_bundle import small_manifest
from trt_engines.errors import BackendError
from trt_engines.graph_tensors import step_tensors
from trt_engines.manifest_loading import load_manifest
from trt_engines.onnx_runtime.bound_run import ALIGNMENT_BYTES, BoundRun, aligned_zeros
from trt_engines.onnx_runtime.session import open_session
from trt_engines.onnx_runtime.step_memory import StepMemory

CAPACITY = 1024
POSITION = 700
READ_ONLY, READ_WRITE = 1, 3


def step_on_protected_caches(bundle_dir: Path) -> None:
    """Step one row on caches whose pages are all read-only but those of the row's own position."""
    session = open_session(bundle_dir, "graphs/step.onnx", small_manifest(), step_tensors)
    memory = StepMemory(small_manifest(), 1)
    memory.inputs["position"][:] = POSITION
    caches = {}
    for name in ("k_0", "v_0"):
        raw = mmap.mmap(-1, 2 * CAPACITY * 32 * 4)
        caches[name] = np.frombuffer(raw, np.float32).reshape(1, 2, CAPACITY, 32)
        _protect(caches[name])
    run = BoundRun(session, memory.inputs | caches, memory.outputs | {f"{name}_out": caches[name] for name in caches})
    run()
    assert all(np.abs(cache[0, :, POSITION]).min() > 0 for cache in caches.values())
    assert all(np.count_nonzero(cache) == 2 * 32 for cache in caches.values())


def _protect(cache: np.ndarray) -> None:
    """Allow writes to no page but those that hold POSITION."""
    libc = ctypes.CDLL(None, use_errno=True)
    address = cache.ctypes.data
    assert libc.mprotect(ctypes.c_void_p(address), cache.nbytes, READ_ONLY) == 0
    for head in range(2):
        place = (head * CAPACITY + POSITION) * 32 * 4 // mmap.PAGESIZE * mmap.PAGESIZE
        assert libc.mprotect(ctypes.c_void_p(address + place), mmap.PAGESIZE, READ_WRITE) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="protects memory with Linux's mprotect")
def test_a_step_writes_nothing_but_its_own_position(small_bundle: Path) -> None:
    """A copy of the cache would end the process: all its other pages are read-only."""
    process = multiprocessing.get_context("spawn").Process(target=step_on_protected_caches, args=(small_bundle,))
    process.start()
    process.join(60)

    assert 0 == process.exitcode


def test_the_updated_cache_is_the_array_that_was_bound(small_bundle: Path) -> None:
    """Input and output are one piece of memory, before and after the run."""
    session = open_session(small_bundle, "graphs/step.onnx", load_manifest(small_bundle), step_tensors)
    memory = StepMemory(small_manifest(), 2)
    caches = {name: aligned_zeros((2, 2, 128, 32), "float32") for name in ("k_0", "v_0")}
    run = BoundRun(session, memory.inputs | caches, memory.outputs | {f"{name}_out": caches[name] for name in caches})
    run()
    addresses = {value.data_ptr() for value in run._binding.get_outputs()}

    assert {cache.ctypes.data for cache in caches.values()} <= addresses
    assert np.count_nonzero(caches["k_0"]) == 2 * 2 * 32


def test_memory_starts_at_a_cache_line() -> None:
    """Arrays of any shape and type are aligned and zero."""
    for shape, dtype in (((3, 5), "float32"), ((7,), "bool"), ((2, 3), "int32")):
        array = aligned_zeros(shape, dtype)

        assert 0 == array.ctypes.data % ALIGNMENT_BYTES
        assert (shape, np.dtype(dtype), 0) == (array.shape, array.dtype, np.count_nonzero(array))


def test_strided_memory_is_refused(small_bundle: Path) -> None:
    """Only contiguous arrays can be bound."""
    session = open_session(small_bundle, "graphs/step.onnx", small_manifest(), step_tensors)

    with pytest.raises(ValueError, match=r"position is strided memory of shape \(2,\)"):
        BoundRun(session, {"position": np.zeros(4, np.int32)[::2]}, {})


def test_a_failing_run_says_on_what(small_bundle: Path) -> None:
    """An error of the runtime becomes one of ours, with the shapes."""
    session = open_session(small_bundle, "graphs/step.onnx", small_manifest(), step_tensors)
    run = BoundRun(session, {"position": np.zeros(2, np.int32)}, {})

    with pytest.raises(BackendError, match=r"failed on inputs of \{'position': \(2,\)\}"):
        run()
