"""Engines on the doubles: the real runtime code, a GPU of host memory, TensorRT made of ONNX Runtime."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.trt_engines.double_plans import write_double_plans
from tests.trt_engines.gpu_double import GpuDouble
from tests.trt_engines.tensorrt_double import TensorrtDouble
from trt_engines.base import Engine
from trt_engines.manifest_loading import load_manifest
from trt_engines.tensorrt import engine as engine_module
from trt_engines.tensorrt.engine import TensorrtOptions, open_tensorrt_engine
from trt_engines.tensorrt.flavor import Flavor, FlavorName


@dataclass
class Bench:
    """An engine with the doubles under it."""

    engine: Engine
    gpu: GpuDouble
    tensorrt: TensorrtDouble


OpenBench = Callable[..., Bench]


@pytest.fixture(scope="session")
def small_plans(small_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Float32 plans of the small bundle for up to eight slots."""
    plans_dir = tmp_path_factory.mktemp("small-plans")
    write_double_plans(small_bundle, plans_dir)
    return plans_dir


@pytest.fixture
def open_bench(small_bundle: Path, small_plans: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenBench]:
    """Opens engines on doubles of their own; closes them and checks that nothing is left on the GPU."""
    benches: list[Bench] = []
    opened: list[GpuDouble] = []

    def open_one(
        slot_count: int = 8,
        bundle_dir: Path = small_bundle,
        plans_dir: Path = small_plans,
        memory_bytes: int = 1 << 30,
        flavor: FlavorName = "tensorrt",
        native: Any | None = None,
        on_gpu: Callable[[GpuDouble], None] = lambda _gpu: None,
        on_api: Callable[[TensorrtDouble], None] = lambda _api: None,
        **behavior: Any,
    ) -> Bench:
        gpu = GpuDouble(memory_bytes)
        api = TensorrtDouble(gpu, **behavior)
        opened.append(gpu)
        on_gpu(gpu)
        on_api(api)
        monkeypatch.setattr(engine_module, "open_driver", lambda *_: gpu)
        monkeypatch.setattr(engine_module, "native_module", lambda: native)  # a real one would look for a real driver
        monkeypatch.setattr(engine_module, "load_flavor", lambda name: Flavor(name, api, api.__version__))
        options = TensorrtOptions(flavor, slot_count, plans_dir)
        bench = Bench(open_tensorrt_engine(bundle_dir, load_manifest(bundle_dir), options), gpu, api)
        benches.append(bench)
        return bench

    yield open_one
    for bench in benches:
        bench.engine.close()
    for gpu in opened:  # those too whose engine could not be opened
        gpu.assert_nothing_is_left()
