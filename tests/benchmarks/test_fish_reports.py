"""The reports on Fish Speech bundles say what the runs have recorded."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks.fish_beside_original import Times, times_as_fast
from benchmarks.fish_full_size import bytes_read
from benchmarks.fish_quantization import report, table
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import project
from build_engines.graph.storage import Storage

SIZES = {"prefill.data": 3_000_000, "prefill.onnx": 500_000, "step.onnx": 1_500_000, "vocode.onnx": 250_000}
STEP = {"step_ms": {"1": 40.0, "4": 80.5}, "floor_ms": 31.25, "peak_memory_bytes": 3e9}
CALLS = {"prefill_ms_per_row": 9.0, "vocode_real_time_factor": 0.5, "peak_memory_bytes": 2e9}


def test_the_report_by_hand() -> None:
    """Sizes are summed by part; what a storage has no value for stays empty."""
    cost = {"part": "talker", "measure": "token logits: cosine", "value": 0.875}
    runs = {
        "float32": {"build": {"graph_bytes": SIZES, "quality": []}, "step": STEP, "calls": CALLS},
        "int8": {"build": {"graph_bytes": SIZES, "quality": [cost], "wall_s": 9.0, "peak_memory_bytes": 5e9}},
    }
    made = report(runs)

    assert made["talker on disk, MB"] == {"float32": 5.0, "int8": 5.0}
    assert made["codec on disk, MB"] == {"float32": 0.25, "int8": 0.25}
    assert made["talker, ms a frame at 4 rows"] == {"float32": 80.5}
    assert made["peak memory of the engine, MB"] == {"float32": 2000}
    assert made["talker, token logits: cosine"] == {"int8": 0.875}
    lines = table(made, list(runs)).splitlines()
    assert lines[:3] == ["| | float32 | int8 |", "|---|---|---|", "| talker on disk, MB | 5 | 5 |"]
    assert "| talker, ms a frame at 1 row | 40 |  |" in lines
    assert "| peak memory of the build, MB |  | 5000 |" in lines


def test_figures_beside_the_original_by_hand() -> None:
    """Frames a second include the prompt's prefill, a further frame does not; gains are by the same figure."""
    theirs = Times(few_s=3.0, one_s=7.0, all_s=56.0).figures(frames=10, requests=8)
    ours = Times(few_s=1.0, one_s=1.8, all_s=2.0).figures(frames=10, requests=8)

    assert theirs == {"frames_per_s_1": 1.429, "frames_per_s_8": 1.429, "ms_a_further_frame_1": 500.0}
    assert ours == {"frames_per_s_1": 5.556, "frames_per_s_8": 40.0, "ms_a_further_frame_1": 100.0}
    assert times_as_fast({"theirs": theirs, "ours x": ours}) == {"ours x / theirs": {"1": 3.89, "8": 27.99}}


@pytest.mark.parametrize(
    ("storage", "matrix_bytes"),
    [(Storage.FLOAT32, 4 * 65_536), (Storage.INT8, 65_536 + 4 * 1024), (Storage.INT4, 32_768 + 4 * 2048)],
)
def test_bytes_are_counted_at_each_use(tmp_path: Path, storage: Storage, matrix_bytes: int) -> None:
    """A matrix used twice is read twice, with the scales of its blocks; a table that is looked up is not counted."""
    matrix = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    graph = GraphBuilder("twice", storage)
    rows = graph.input("rows", np.int64, ["N"])
    hidden = graph.lookup("table", matrix, rows)
    graph.output("y", project(project(hidden, "w", matrix), "w", matrix), ["N", 256])
    onnx.save(graph.model(), tmp_path / "twice.onnx")

    assert 2 * matrix_bytes == bytes_read(tmp_path / "twice.onnx")
