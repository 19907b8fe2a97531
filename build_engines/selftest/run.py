"""Builds what is needed, checks the engine, measures it, and writes the report."""

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from build_engines.selftest.cache_in_place import cache_in_place
from build_engines.selftest.correctness import correctness
from build_engines.selftest.encoding import encoding
from build_engines.selftest.finding import Finding
from build_engines.selftest.report import write_report
from build_engines.selftest.speed import Speed
from build_engines.selftest.spoken_prompts import SpokenPrompts
from build_engines.selftest.step_weights import product_weight_count
from build_engines.tensorrt.build_plans import build_plans
from build_engines.tensorrt.plan_options import PlanOptions
from trt_engines.base import Engine
from trt_engines.cuda.driver import CudaDriver
from trt_engines.cuda.open_driver import open_driver
from trt_engines.engine_options import Backend, EngineOptions
from trt_engines.load import load_engine
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest
from trt_engines.tensorrt.talker import TensorrtTalker

_COPY_BYTES = 1 << 28
_COPIES = 10
_HALF_BYTES = 2  # plans are float16 unless asked otherwise


@dataclass(frozen=True)
class Selftest:
    """What to test.

    Attributes:
        bundle_dir: the bundle, with golden vectors.
        backend: what runs it.
        slot_count: the largest batch.
        plans_dir: where plans are kept.
        output_dir: where the report goes.
        say: told every finding as it comes.
    """

    bundle_dir: Path
    backend: Backend
    slot_count: int
    plans_dir: Path
    output_dir: Path
    say: Callable[[str], None]

    def run(self) -> bool:
        """Run everything; return whether every limit holds.

        Raises:
            EngineError: the engine cannot be opened, or fails on the way.
            FileNotFoundError: the bundle has no golden vectors.
        """
        machine = {"processor": platform.processor() or platform.machine(), "bundle": str(self.bundle_dir)}
        machine |= {"backend": self.backend, "slots": str(self.slot_count)}
        driver = None if self.backend == "onnxruntime" else open_driver()
        if driver is not None:
            machine |= {"GPU": f"{driver.gpu().name} ({driver.gpu().architecture})", "CUDA through": driver.name}
            self._build()
        if load_manifest(self.bundle_dir).reference is None:
            machine |= {"encode": "not tested, the bundle has no graph that encodes reference audio"}
        options = EngineOptions(self.slot_count, backend=self.backend, plans_dir=self.plans_dir)
        engine = load_engine(self.bundle_dir, options)
        try:
            findings = []
            for finding in self._findings(engine, driver):
                self.say(f"{finding.name}: {finding.value:.4g} {finding.unit}{'' if finding.is_good else ' FAILED'}")
                findings.append(finding)
        finally:
            engine.close()
        files = write_report(self.output_dir, machine, findings)
        self.say(f"written: {', '.join(map(str, files))}")
        return all(finding.is_good for finding in findings)

    def _build(self) -> None:
        assert self.backend != "onnxruntime"
        options = PlanOptions(self.backend, slot_count=self.slot_count, vocode_rows=min(self.slot_count, 32))
        build_plans(self.bundle_dir, self.plans_dir, options, self.say)

    def _findings(self, engine: Engine, driver: CudaDriver | None) -> Iterator[Finding]:
        prompts = SpokenPrompts.load(self.bundle_dir, engine.manifest)
        if isinstance(engine.talker, TensorrtTalker):
            yield Finding("batch buckets without a captured graph", len(engine.talker.uncaptured_buckets), limit=0)
            yield from cache_in_place(engine.talker, prompts, engine.manifest.kv.layers)
        reference = load_engine(self.bundle_dir, EngineOptions(slot_count=1, threads=1))
        try:
            yield from correctness(engine, reference, prompts)
            spec = engine.manifest.reference
            if spec is not None and engine.reference_encoder is not None and reference.reference_encoder is not None:
                yield from encoding(engine.reference_encoder, reference.reference_encoder, spec)
        finally:
            reference.close()
        if driver is None:
            bytes_per_s = 0.0
        else:
            with driver.attached():
                bytes_per_s = measured_bytes_per_s(driver)
        weight_bytes = product_weight_count(self.bundle_dir / engine.manifest.step.graph) * _HALF_BYTES
        step_bytes = _step_bytes(engine.manifest, weight_bytes, len(prompts.row_ids))
        yield from Speed(engine, prompts, step_bytes, bytes_per_s).findings()


def _step_bytes(manifest: Manifest, weight_bytes: int, positions: int) -> Callable[[int], int]:
    """Return what a step of so many rows reads at least: its weights once, and the used part of every cache."""
    kv = manifest.kv
    position_bytes = 2 * kv.layers * kv.heads * kv.head_dim * _HALF_BYTES
    return lambda rows: weight_bytes + rows * positions * position_bytes


def measured_bytes_per_s(driver: CudaDriver, copy_bytes: int = _COPY_BYTES) -> float:
    """Return how fast the GPU's memory is read, by copying inside it; a copy reads and writes."""
    source, target = driver.allocate(copy_bytes), driver.allocate(copy_bytes)
    stream = driver.create_stream(is_urgent=False)
    driver.copy(target, source, copy_bytes, stream)
    driver.synchronize(stream)
    start = time.perf_counter()
    for _ in range(_COPIES):
        driver.copy(target, source, copy_bytes, stream)
    driver.synchronize(stream)
    taken_s = time.perf_counter() - start
    driver.destroy_stream(stream)
    driver.free(source)
    driver.free(target)
    return 2 * _COPIES * copy_bytes / taken_s
