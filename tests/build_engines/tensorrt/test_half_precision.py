"""The half-precision form of a graph: which part runs in which type, and how little that changes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper, parser

from build_engines.__main__ import main
from build_engines.errors import ParityError
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import project
from build_engines.graph.rounding import rounded_product
from build_engines.graph.storage import Storage
from build_engines.tensorrt.half_parity import half_parity
from build_engines.tensorrt.half_precision import half_precision
from build_engines.tensorrt.plain_weights import plain_weights
from build_engines.tensorrt.tensorrt_graph import tensorrt_graph
from tests.build_engines.golden_noise import write_golden_noise
from trt_engines.manifest_loading import load_manifest


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny bundle with golden vectors."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    write_golden_noise(bundle_dir)
    return bundle_dir


def _types(model: onnx.ModelProto) -> dict[str, int]:
    graph = onnx.shape_inference.infer_shapes(model).graph
    known = [*graph.input, *graph.value_info, *graph.output]
    stored = {tensor.name: tensor.data_type for tensor in graph.initializer}
    return stored | {item.name: item.type.tensor_type.elem_type for item in known}


def test_products_are_half_and_norms_are_not(tiny: Path) -> None:
    """Every product of matrices and attention takes float16, every norm, exponential and sort float32."""
    model = half_precision(onnx.load(tiny / "graphs" / "step.onnx")).model
    types = _types(model)
    halves = {node.op_type for node in model.graph.node if types.get(node.input[0]) == TensorProto.FLOAT16}
    floats = {node.op_type for node in model.graph.node if types.get(node.input[0]) == TensorProto.FLOAT}
    assert {"MatMul", "Attention", "TensorScatter"} <= halves
    assert {"RMSNormalization", "RotaryEmbedding", "Softmax", "TopK", "ReduceSum"} <= floats - halves


def test_only_the_caches_change_their_type(tiny: Path) -> None:
    """Inputs and outputs keep their types but for k_ and v_, which become float16."""
    model = onnx.load(tiny / "graphs" / "step.onnx")
    before = {item.name: item.type.tensor_type.elem_type for item in [*model.graph.input, *model.graph.output]}
    half = half_precision(model).model
    after = {item.name: item.type.tensor_type.elem_type for item in [*half.graph.input, *half.graph.output]}
    changed = {name for name, kind in after.items() if kind != before[name]}
    assert {f"{half}_{layer}{end}" for half in "kv" for layer in (0, 1) for end in ("", "_out")} == changed


def test_logits_are_float32_from_where_they_are_made(tiny: Path) -> None:
    """The advance and each of the four codes has a head, cast to float32 before anything else reads it."""
    half = half_precision(onnx.load(tiny / "graphs" / "step.onnx"))
    types = _types(half.model)
    assert 5 == len(half.heads)
    assert {TensorProto.FLOAT} == {types[name] for name in half.heads}


def test_audio_is_rendered_in_float32(tiny: Path) -> None:
    """Phases, exponentials and the transform behind them stay float32; the networks before them do not."""
    model = half_precision(onnx.load(tiny / "graphs" / "vocode.onnx")).model
    types = _types(model)
    for node in model.graph.node:
        if node.op_type in ("Exp", "CumSum", "Round", "Mod", "Floor"):
            assert types.get(node.input[0]) != TensorProto.FLOAT16, node.op_type
    products = {types[node.input[0]] for node in model.graph.node if node.op_type == "MatMul"}
    assert {TensorProto.FLOAT, TensorProto.FLOAT16} == products


def test_half_precision_speaks_the_same(tiny: Path) -> None:
    """On ONNX Runtime the golden utterance has nearly the same logits, draws and spectrum."""
    results = {result.case: result for result in half_parity(tiny)}
    assert {"1 - cosine of the logits", "logit error", "draws that differ", "mel distance in dB"} == set(results)
    assert results["1 - cosine of the logits"].worst_error < 1e-5


def test_a_graph_that_half_precision_spoils_is_refused(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names graph, case, value and limit."""
    monkeypatch.setitem(half_parity.__globals__["_TOLERANCES"], "logit error", 0.0)
    with pytest.raises(ParityError, match=r"graphs/step.onnx, logit error: .*, allowed 0.0"):
        half_parity(tiny)


def test_the_results_go_into_the_manifest(tiny: Path) -> None:
    """`half-precision` writes its four results beside those of other backends, and not twice."""
    for _ in range(2):
        main(["half-precision", str(tiny)])
    assert 4 == len(load_manifest(tiny).verification)


def test_weights_too_large_for_half_precision_are_refused() -> None:
    """The sentence has the weight's name and its value."""
    model = parser.parse_model(
        '<ir_version: 11, opset_import: ["" : 24]> g (float[B, 2] x) => (float[B, 2] y) { y = MatMul(x, w) }'
    )
    model.graph.initializer.append(numpy_helper.from_array(np.full((2, 2), 1e5, np.float32), "w"))
    with pytest.raises(ValueError, match="Weight w has 100000, beyond float16's 65504"):
        half_precision(model)


@pytest.mark.parametrize("storage", list(Storage))
@pytest.mark.parametrize("outputs", [96, 700])
def test_every_storage_becomes_plain_weights(storage: Storage, outputs: int) -> None:
    """Narrowly stored weights are computed once, here, small matrices and such in blocks: the product is theirs."""
    graph = GraphBuilder("stored", storage)
    hidden = graph.input("x", np.float32, ["B", 128])
    matrix = np.random.default_rng(1).standard_normal((outputs, 128)).astype(np.float32)
    graph.output("y", project(hidden, "w", matrix), ["B", outputs])
    plain = plain_weights(graph.model())
    assert ["MatMul", "Identity"] == [node.op_type for node in plain.graph.node]
    feeds = {"x": np.random.default_rng(2).standard_normal((3, 128)).astype(np.float32)}
    expected = feeds["x"] @ rounded_product(matrix, storage).T
    np.testing.assert_allclose(expected, _run(plain, feeds)["y"], rtol=0, atol=1e-4)


def test_steps_are_chained_and_positions_stay_in_the_cache(tiny: Path) -> None:
    """An active row moves on, an idle one stays; at the last position both stay."""
    graph, feeds = _chained_step(tiny)
    made = _run(graph, feeds)
    assert [5, 4, 1023] == made["position_out"].tolist()
    assert made["row_ids_out"][1].tolist() == feeds["row_ids"][1].tolist()
    assert made["row_ids_out"][0].tolist() != feeds["row_ids"][0].tolist()
    assert [True] * 3 == made["finite"].tolist()


def test_a_number_that_is_not_finite_shows(tiny: Path) -> None:
    """A NaN in one row's cache makes that row's `finite` false, and no other."""
    graph, feeds = _chained_step(tiny)
    feeds["v_0"][1, :, 2] = np.nan
    assert [True, False, True] == _run(graph, feeds)["finite"].tolist()


def _run(model: onnx.ModelProto, feeds: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([item.name for item in session.get_outputs()], session.run(None, feeds), strict=True))


def _chained_step(bundle_dir: Path) -> tuple[onnx.ModelProto, dict[str, NDArray[Any]]]:
    """Return the step with three rows to run: one active, one idle, one active at the last position."""
    graph = tensorrt_graph(onnx.load(bundle_dir / "graphs" / "step.onnx"), "step", "float32", 1024)
    feeds = {
        "row_ids": np.tile(np.asarray([[-1, 5, 0, 0, 0, 0, 0, 0]], np.int32), (3, 1)),
        "position": np.asarray([4, 4, 1023], np.int32),
        "prompt": np.ones((3, 1024), np.int32),
        "prompt_count": np.full(3, 4, np.int32),
        "params": np.tile(np.asarray([[0.3, 0.9, 0.7, 0.9]], np.float32), (3, 1)),
        "random": np.full((3, 5), 0.5, np.float32),
        "active": np.asarray([True, False, True]),
    }
    feeds |= {f"{half}_{layer}": np.zeros((3, 1, 1024, 16), np.float32) for half in "kv" for layer in range(2)}
    return graph, feeds
