"""The self-test on the doubles: what only TensorRT is asked, and the whole of it from plans to report."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from build_engines.selftest import run as run_module
from build_engines.selftest.cache_in_place import cache_in_place
from build_engines.selftest.encoding import encoding
from build_engines.selftest.run import Selftest
from build_engines.selftest.spoken_prompts import SpokenPrompts
from tests.build_engines.golden_noise import write_golden_noise
from tests.trt_engines.double_plans import write_double_plans
from tests.trt_engines.gpu_double import GpuDouble
from tests.trt_engines.small_bundle import NAN_ID
from tests.trt_engines.tensorrt_double import TensorrtDouble
from trt_engines.base import ReferenceEncoder, StepFrame, Talker
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine
from trt_engines.tensorrt import engine as engine_module
from trt_engines.tensorrt.flavor import Flavor

ROWS = np.stack([np.arange(30) % NAN_ID, np.zeros(30)], 1).astype(np.int32)
PROMPTS = SpokenPrompts(ROWS, np.zeros((4, 2), np.int32), (1.0,), 64)


@dataclasses.dataclass(frozen=True)
class _Clumsy(SpokenPrompts):
    """Spoils something on the GPU at each step."""

    spoil: Callable[[], None] = lambda: None

    def step(self, talker: Talker, slots: Sequence[int], seeds: Sequence[int], index: int) -> list[StepFrame]:
        """Step, and spoil."""
        frames = super().step(talker, slots, seeds, index)
        self.spoil()
        return frames


def test_two_hundred_steps_write_two_hundred_positions_and_leave_the_prompt(open_bench: Callable) -> None:
    """Both findings hold, also when the row has been used before."""
    talker = open_bench().engine.talker
    for _ in range(2):
        spoilt, written = cache_in_place(talker, PROMPTS, 1)
        assert (0, True) == (spoilt.value, spoilt.is_good)
        assert (200, True) == (written.value, written.is_good)
        assert "200 steps" in written.name


def test_a_cache_that_is_not_updated_in_place_is_found_out(open_bench: Callable) -> None:
    """Another position of the prompt, or one of the steps, that a step overwrites breaks a limit."""
    bench = open_bench()
    talker = bench.engine.talker
    row = talker._tensors.row_address("v_0", 0)
    for position, is_spoilt in ((3, True), (40, False)):

        def spoil(address: int = row + position * 32 * 4) -> None:
            bench.gpu.view(address, 128).fill(0)
            bench.gpu.view(address + 400 * 32 * 4, 128).fill(0)  # the other head

        clumsy = _Clumsy(
            **{field.name: getattr(PROMPTS, field.name) for field in dataclasses.fields(PROMPTS)}, spoil=spoil
        )
        spoilt, written = cache_in_place(talker, clumsy, 1)
        assert (int(is_spoilt), not is_spoilt) == (spoilt.value, spoilt.is_good)
        assert (200 - (not is_spoilt), is_spoilt) == (written.value, written.is_good)


def test_the_whole_self_test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans, driver, engine, all comparisons and measurements, and both reports; every limit holds on the doubles."""
    bundle, gpu = tmp_path / "bundle", GpuDouble()
    write_golden_noise(bundle)
    api = TensorrtDouble(gpu)
    for module in (run_module, engine_module):
        monkeypatch.setattr(module, "open_driver", lambda *_: gpu)
    monkeypatch.setattr(engine_module, "native_module", lambda: None)
    monkeypatch.setattr(engine_module, "load_flavor", lambda name: Flavor(name, api, api.__version__))
    monkeypatch.setattr(run_module, "build_plans", lambda directory, plans, *_: write_double_plans(directory, plans))
    monkeypatch.setattr(run_module, "measured_bytes_per_s", lambda _driver: 1e12)
    lines: list[str] = []
    assert Selftest(bundle, "tensorrt", 3, tmp_path / "plans", tmp_path / "out", lines.append).run(), lines
    report = json.loads((tmp_path / "out" / "selftest.json").read_text(encoding="utf-8"))
    names = {finding["name"] for finding in report["findings"]}
    assert {
        "batch buckets without a captured graph",
        "positions that 200 steps have written",
        "first frames equal to ONNX Runtime's",
        "first frames of a full batch equal to ONNX Runtime's",
        "frames equal when a full batch is run again",
        "mel distance to ONNX Runtime",
        *(f"{what} of {rows} rows" for what in ("step", "floor") for rows in (1, 2, 3)),
        "time to first audio, alone",
        "streams in real time",
    } <= names
    assert "Double (sm89)" in (tmp_path / "out" / "selftest.md").read_text(encoding="utf-8")
    gpu.assert_nothing_is_left()


class _Deaf:
    """An encoder that hears the first half only."""

    def __init__(self, encoder: ReferenceEncoder) -> None:
        self._encoder = encoder

    def encode(self, samples: NDArray[np.float32]) -> NDArray[Any]:
        """Encode what it hears."""
        heard = samples.copy()
        heard[len(samples) // 2 :] = 0
        return self._encoder.encode(heard)


@pytest.mark.parametrize("is_deaf", [False, True])
def test_codes_are_compared_at_the_shortest_and_longest_audio(
    is_deaf: bool, window_bundle: Path, open_bench: Callable, tmp_path: Path
) -> None:
    """Three lengths, all equal for a good encoder, none good enough for one that hears half."""
    write_double_plans(window_bundle, tmp_path)
    bench = open_bench(bundle_dir=window_bundle, plans_dir=tmp_path)
    reference = load_engine(window_bundle, EngineOptions(slot_count=1, threads=1))
    spec, ours, theirs = bench.engine.manifest.reference, bench.engine.reference_encoder, reference.reference_encoder
    findings = list(encoding(_Deaf(ours) if is_deaf else ours, theirs, spec))
    names = [f"codes of {seconds} s of reference audio equal to ONNX Runtime's" for seconds in ("0.01", "0.04", "0.1")]
    assert names == [finding.name for finding in findings]
    assert [not is_deaf] * 3 == [finding.is_good for finding in findings]
