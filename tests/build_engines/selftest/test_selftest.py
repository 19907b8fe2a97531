"""The self-test on the engine that needs no GPU: what it finds, and what it writes."""

import json
import math
from itertools import count
from pathlib import Path

import numpy as np
import onnx
import pytest

from build_engines.selftest.correctness import correctness
from build_engines.selftest.finding import Finding
from build_engines.selftest.report import markdown, write_report
from build_engines.selftest.run import Selftest, measured_bytes_per_s
from build_engines.selftest.speed import Speed
from build_engines.selftest.spoken_prompts import SpokenPrompts
from build_engines.selftest.step_weights import product_weight_count
from build_engines.tiny import make_tiny_bundle
from tests.build_engines.golden_noise import write_golden_noise
from tests.trt_engines.gpu_double import GpuDouble
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny bundle with golden vectors."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    write_golden_noise(bundle_dir)
    return bundle_dir


def test_an_engine_that_is_onnx_runtime_passes(bundle: Path, tmp_path: Path) -> None:
    """Every limit holds, and both reports say so."""
    lines: list[str] = []
    assert Selftest(bundle, "onnxruntime", 3, bundle / "plans", tmp_path, lines.append).run()
    report = json.loads((tmp_path / "selftest.json").read_text(encoding="utf-8"))
    found = {row["name"]: row for row in report["findings"]}
    assert found["first frames equal to ONNX Runtime's"]["value"] == 1
    assert found["first frames of a full batch equal to ONNX Runtime's"]["value"] == 1
    assert found["frames equal alone and in the full batch"]["value"] == 1
    assert found["mel distance to ONNX Runtime"]["value"] == 0
    assert {"step of 1 rows", "step of 2 rows", "step of 3 rows", "streams in real time"} <= set(found)
    assert "Everything that has a limit keeps it." in (tmp_path / "selftest.md").read_text(encoding="utf-8")
    assert len(report["findings"]) + 1 == len(lines)
    assert "no graph that encodes" in report["machine"]["encode"]


def test_another_voice_fails(bundle: Path, tmp_path: Path) -> None:
    """An engine with other weights has other first frames and another sound."""
    other = tmp_path / "other"

    make_tiny_bundle(other, seed=8)
    engine, reference = (load_engine(path, EngineOptions(2, threads=1)) for path in (other, bundle))
    prompts = SpokenPrompts.load(bundle, reference.manifest)
    found = {finding.name: finding for finding in correctness(engine, reference, prompts)}
    assert not found["first frames equal to ONNX Runtime's"].is_good
    assert not found["mel distance to ONNX Runtime"].is_good
    assert found["samples missing or too many"].is_good


def test_streams_are_counted_by_the_clock(bundle: Path) -> None:
    """With a clock that stands still all slots keep up; with one that jumps none does."""
    engine = load_engine(bundle, EngineOptions(3, threads=1))
    prompts = SpokenPrompts.load(bundle, engine.manifest)
    ticks = count()
    for clock, streams in ((lambda: 0.0, 3), (lambda: float(next(ticks) * 60), 0)):
        speed = Speed(engine, prompts, lambda _rows: 0, 0.0, clock)
        assert streams == list(speed.findings())[-1].value


def test_a_floor_is_the_bytes_over_the_memorys_speed(bundle: Path) -> None:
    """Each bucket's step time stands beside its floor."""
    engine = load_engine(bundle, EngineOptions(1, threads=1))
    prompts = SpokenPrompts.load(bundle, engine.manifest)
    found = list(Speed(engine, prompts, lambda rows: 1000 * rows, 1e6, lambda: 0.0).findings())
    assert ("floor of 1 rows", 1.0, "ms") == (found[1].name, found[1].value, found[1].unit)


def test_a_step_reads_all_weights_but_those_it_looks_up(tmp_path: Path) -> None:
    """The matrix counts, the table does not; the weights themselves, in a file of their own, are not read."""
    nodes = "{ h = Gather(t, ids) y = MatMul(h, w) }"
    head = '<ir_version: 11, opset_import: ["" : 24]> g (int32[B] ids) => (float[B, 6] y)'
    model = onnx.parser.parse_model(f"{head} {nodes}")
    for name, shape in (("t", (50, 4)), ("w", (4, 6))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(shape, np.float32), name))
    onnx.save(model, tmp_path / "g.onnx", save_as_external_data=True, location="g.data", size_threshold=0)
    (tmp_path / "g.data").unlink()
    assert 24 == product_weight_count(tmp_path / "g.onnx")


def test_limits_hold_or_do_not() -> None:
    """At least, at most, no limit, and NaN."""
    assert Finding("a", 1.0, limit=1.0, bound="at least").is_good
    assert not Finding("a", 0.9, limit=1.0, bound="at least").is_good
    assert Finding("a", 5.0).is_good
    assert not Finding("a", math.nan, limit=1.0).is_good


def test_a_failure_stands_at_the_top_of_the_report(tmp_path: Path) -> None:
    """Whoever reads the first lines knows."""
    findings = [Finding("codes", 0.5, "", 0.9, "at least"), Finding("step", 1.25, "ms")]
    text = markdown({"GPU": "Double"}, findings)
    assert "**Failed:** codes." in text
    assert "| codes | 0.5  | at least 0.9 (**failed**) |" in text
    assert write_report(tmp_path / "new", {}, findings)[0].exists()


def test_the_memory_is_measured_by_copies_that_are_waited_for() -> None:
    """Everything that was allocated for it is given back."""
    gpu = GpuDouble()
    with gpu.attached():
        assert measured_bytes_per_s(gpu, 1 << 16) > 0
    gpu.assert_nothing_is_left()
