"""Opening an engine: memory, refusals, and what happens when the GPU is too small."""

import dataclasses
import gc
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.trt_engines.double_plans import write_double_plans
from tests.trt_engines.gpu_double import GpuDouble
from tests.trt_engines.talker_script import Segment, speak_alone
from tests.trt_engines.tensorrt_double import TensorrtDouble
from trt_engines.cuda.errors import CudaUnavailableError
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import BackendError
from trt_engines.load import load_engine
from trt_engines.tensorrt.memory_plan import MemoryPlan
from trt_engines.tensorrt.plan_manifest import write_plan_manifest


def test_the_memory_plan_is_logged_before_anything_is_allocated(
    open_bench: Callable, caplog: pytest.LogCaptureFixture
) -> None:
    """One line names weights, workspace, buffers and slots."""
    caplog.set_level(logging.INFO)
    open_bench()
    (line,) = [record.message for record in caplog.records if "MB of GPU memory" in record.message]
    assert "8 slots of the talker" in line
    assert "weights" in line


def test_a_small_gpu_gets_the_largest_bucket_that_fits(open_bench: Callable, caplog: pytest.LogCaptureFixture) -> None:
    """With room for five slots, four are opened, and speak."""
    everything = open_bench(slot_count=8)
    needed = everything.gpu.used_bytes
    bench = open_bench(slot_count=8, memory_bytes=int(0.75 * needed))
    assert bench.engine.talker.slot_count in (2, 4)
    assert bench.engine.vocoder.slot_count == bench.engine.talker.slot_count
    assert "8 slots were wanted" in caplog.text
    rows = everything.engine.manifest.row.columns
    assert speak_alone(bench.engine.talker, Segment(0, _zeros(5, len(rows)), 1, (1.0,)), 3)


def test_an_allocation_that_fails_at_load_is_answered_with_fewer_slots(
    open_bench: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the plan was too hopeful, what was allocated is given back and a smaller bucket tried."""
    used = open_bench(slot_count=8).gpu.used_bytes
    monkeypatch.setattr(MemoryPlan, "largest_slot_count", lambda *_: 100)
    assert open_bench(slot_count=8, memory_bytes=used - 1).engine.talker.slot_count == 4


def test_a_gpu_without_room_for_one_slot_is_a_sentence(open_bench: Callable) -> None:
    """The error has the plan, the free memory and two remedies."""
    with pytest.raises(BackendError, match=r"Not even one slot fits: .* but the GPU has 0.1 MB free.*--max-positions"):
        open_bench(memory_bytes=100_000)


def test_slots_that_fall_between_two_buckets_use_the_larger_one(open_bench: Callable) -> None:
    """Three slots are wanted and three are there, on rows of the bucket of four."""
    assert open_bench(slot_count=3).engine.talker.slot_count == 3


def test_a_plan_that_tensorrt_refuses_is_named(open_bench: Callable) -> None:
    """The error repeats TensorRT's own words."""
    with pytest.raises(BackendError, match=r"cannot load .*prefill.plan: Serialization assertion"):
        open_bench(refuse_plans="Serialization assertion plan->header.magicTag failed")


def test_missing_plans_come_with_the_command_that_builds_them(
    open_bench: Callable, small_bundle: Path, tmp_path: Path
) -> None:
    """Without plans the error is the command line to run."""
    command = f"antiphon build-engines {small_bundle} --backend tensorrt --plans {tmp_path}"
    with pytest.raises(BackendError, match=r"no|No tensorrt plan") as raised:
        open_bench(plans_dir=tmp_path)
    assert command in str(raised.value)


def test_without_a_gpu_nothing_but_a_sentence_happens(small_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is looked for first: TensorRT, which could end the process, is not even imported."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    with pytest.raises(CudaUnavailableError):
        load_engine(small_bundle, EngineOptions(1, backend="tensorrt"))


def test_half_precision_plans_run(open_bench: Callable, small_bundle: Path, tmp_path: Path) -> None:
    """Float16 caches take half the memory and give frames."""
    write_double_plans(small_bundle, tmp_path, precision="float16")
    bench, full = open_bench(plans_dir=tmp_path), open_bench()
    assert bench.gpu.used_bytes < full.gpu.used_bytes
    columns = len(full.engine.manifest.row.columns)
    assert speak_alone(bench.engine.talker, Segment(0, _zeros(5, columns), 1, (1.0,)), 3)


def test_prefill_and_step_share_no_scratch_memory(open_bench: Callable) -> None:
    """They share a stream, and the native loop's thread may put a step between two kernels of a prefill."""
    bench = open_bench()
    prefill, step = (bench.tensorrt.workspaces[name] for name in ("prefill", "step"))
    assert prefill
    for start, size in prefill:
        assert all(start + size <= other or other + length <= start for other, length in step)


def test_a_context_that_finds_no_memory_is_answered_with_fewer_slots(open_bench: Callable) -> None:
    """What TensorRT keeps in a context is not in the plan of the memory; where it does not fit, fewer slots may."""
    assert open_bench(slot_count=8, full_once=["vocode"]).engine.talker.slot_count == 4


def test_closing_gives_weights_and_contexts_back(open_bench: Callable, window_bundle: Path, tmp_path: Path) -> None:
    """Whoever still holds the engine holds nothing of TensorRT; an attempt that failed does not either."""
    write_double_plans(window_bundle, tmp_path)
    bench = open_bench(bundle_dir=window_bundle, plans_dir=tmp_path)
    bench.engine.reference_encoder.encode(np.zeros(200, np.float32))
    assert bench.tensorrt.alive
    bench.engine.close()
    gc.collect()
    assert [] == list(bench.tensorrt.alive)
    retried, once = (open_bench(slot_count=count, full_once=full) for count, full in ((8, ["vocode"]), (4, [])))
    gc.collect()
    assert len(once.tensorrt.alive) == len(retried.tensorrt.alive)


def test_weights_that_do_not_fit_are_a_sentence(open_bench: Callable) -> None:
    """The error has the size of the weights, the free memory and what to do."""
    with pytest.raises(BackendError, match=r"weights take .* MB and the GPU has .* MB free.*OutOfMemory.*larger GPU"):
        open_bench(refuse_plans="createDeserializer: Error Code 2: OutOfMemory")


def test_the_loops_thread_ends_before_its_stream(open_bench: Callable) -> None:
    """When the vocoder finds no room, a native loop that runs already is closed while its stream is still there."""
    closed: list[bool] = []
    native = SimpleNamespace(StepLayout=SimpleNamespace, CudaFailure=OSError)
    bench_gpus: list[GpuDouble] = []

    class Loop:
        def __init__(self, stream: int, **_: Any) -> None:
            self._stream, self._gpu = stream, bench_gpus[-1]

        def close(self) -> None:
            closed.append(self._gpu.is_urgent(self._stream))

    native.StepLoop = Loop
    open_bench(slot_count=8, full_once=["vocode"], native=native, on_gpu=bench_gpus.append)
    assert [True] == closed


def test_a_run_that_cannot_be_captured_is_told_in_tensorrts_words(open_bench: Callable) -> None:
    """The capture is ended, everything is given back, and the error names the plan."""
    with pytest.raises(BackendError, match=r"step.plan, profile 0 refuses to run: .*Error Code 1: Cuda Runtime"):
        open_bench(refuse_captures=("step",))


def test_a_driver_too_old_for_tensorrt_is_a_sentence(open_bench: Callable) -> None:
    """What TensorRT hands out then is neither used nor destroyed: both would end the process."""
    apis: list[TensorrtDouble] = []
    words = "createInferRuntime: Error Code 6: API Usage Error (CUDA initialization failure with error: 35)"
    with pytest.raises(BackendError, match=r"cannot start; update the NVIDIA driver, or install .*error: 35"):
        open_bench(cannot_start=words, on_api=apis.append)
    gc.collect()
    assert [] == apis[0].runs


def test_tensors_in_host_memory_are_refused(open_bench: Callable) -> None:
    """An input that shapes are computed from would be read on the host, where a device address means nothing."""
    with pytest.raises(BackendError, match=r"prefill.plan wants row_count in host memory"):
        open_bench(host_tensors=("row_count",))


def test_only_plans_for_later_versions_may_bring_host_code(
    open_bench: Callable, small_bundle: Path, tmp_path: Path
) -> None:
    """A plan that later versions read carries its own runtime, which TensorRT runs only when it is allowed to."""
    assert [False] * 3 == open_bench().tensorrt.host_code
    plans = write_double_plans(small_bundle, tmp_path)
    compatible = dataclasses.replace(plans, build_flags=("VERSION_COMPATIBLE",))
    write_plan_manifest(compatible, tmp_path / "tensorrt-sm89")
    assert [True] * 3 == open_bench(plans_dir=tmp_path).tensorrt.host_code


def _zeros(rows: int, columns: int) -> NDArray[np.int32]:
    return np.zeros((rows, columns), np.int32)
