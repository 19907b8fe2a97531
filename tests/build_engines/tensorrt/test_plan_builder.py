"""NVIDIA's own compiler on every graph, with no GPU: TensorRT-RTX builds for SM80 and SM89 and lists what it made."""

import re
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest

from build_engines.tensorrt.build_plans import vocode_frame_counts
from build_engines.tensorrt.engine_layers import EngineLayers, engine_layers
from build_engines.tensorrt.plan_builder import PlanBuilder, profile_shapes
from build_engines.tensorrt.plan_options import PlanOptions, encode_profile, step_profiles
from build_engines.tensorrt.tensorrt_graph import Operation, tensorrt_graph
from build_engines.tiny import make_tiny_bundle
from tests.trt_engines.small_bundle import write_small_bundle
from trt_engines.errors import BackendError
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest
from trt_engines.tensorrt.flavor import load_flavor
from trt_engines.tensorrt.log import tensorrt_log
from trt_engines.tensorrt.plan_manifest import PlanProfile, graph_names

pytest.importorskip("tensorrt_rtx", reason="NVIDIA's compiler is an extra: pip install 'antiphon[tensorrt-rtx]'")

pytestmark = pytest.mark.timeout(900)  # seconds on an idle machine, minutes beside other work

ROOT = Path(__file__).parents[3]
OPTIONS = PlanOptions("tensorrt-rtx")
DTYPES = {
    onnx.TensorProto.FLOAT: "Float",
    onnx.TensorProto.FLOAT16: "Half",
    onnx.TensorProto.INT32: "Int32",
    onnx.TensorProto.BOOL: "Bool",
}


@dataclass(frozen=True)
class Built:
    """One plan with what went in and what the compiler says came out."""

    graph: onnx.ModelProto
    profiles: tuple[PlanProfile, ...]
    plan: bytes
    listing: EngineLayers


def _build(bundle_dir: Path, manifest: Manifest, operation: Operation, profiles: tuple[PlanProfile, ...]) -> Built:
    flavor = load_flavor("tensorrt-rtx")
    model = onnx.load(bundle_dir / graph_names(manifest)[operation])
    graph = tensorrt_graph(model, operation, "float16", manifest.max_positions)
    log = tensorrt_log(flavor)
    log.recorded = []
    plan = PlanBuilder(flavor, OPTIONS, ("sm80", "sm89")).build(graph, profiles)
    listing = engine_layers(log.recorded)
    log.recorded = None
    return Built(graph, profiles, plan, listing)


def _all(bundle_dir: Path, rows: int) -> dict[str, Built]:
    """Build every graph of a bundle for one shape each."""
    manifest = load_manifest(bundle_dir)
    shapes: dict[Operation, PlanProfile] = {
        "prefill": PlanProfile(1, manifest.prefill.chunk_rows),
        "step": PlanProfile(rows, 1),
        "vocode": PlanProfile(rows, vocode_frame_counts(manifest)[0]),
    }
    return {name: _build(bundle_dir, manifest, name, (profile,)) for name, profile in shapes.items()}


@pytest.fixture(scope="module")
def tiny_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny bundle."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    make_tiny_bundle(bundle_dir)
    return bundle_dir


@pytest.fixture(scope="module")
def tiny_plans(tiny_dir: Path) -> dict[str, Built]:
    """Every plan of the tiny bundle."""
    return _all(tiny_dir, 4)


@pytest.fixture(scope="module")
def default_plans() -> dict[str, Built]:
    """Every plan of the voice that ships."""
    bundle_dir = ROOT / "voices" / "default"
    return _all(bundle_dir, 4)


@pytest.fixture(params=["tiny_plans", "default_plans"])
def built(request: pytest.FixtureRequest) -> dict[str, Built]:
    """The plans of both bundles, one after the other."""
    plans: dict[str, Built] = request.getfixturevalue(request.param)
    return plans


def test_inputs_and_outputs_are_the_declared_ones(built: dict[str, Built]) -> None:
    """Names, dtypes and profile shapes of every plan are those of its graph."""
    for made in built.values():
        declared = {item.name: DTYPES[item.type.tensor_type.elem_type] for item in _ends(made.graph)}
        assert declared == {tensor.name: tensor.dtype for tensor in made.listing.tensors}
        shapes = profile_shapes(made.graph, made.profiles[0])
        found = {tensor.name: tensor.shapes[0] for tensor in made.listing.tensors if tensor.is_input}
        assert {name: (shape, shape) for name, shape in shapes.items()} == found


def test_every_attention_is_one_fused_kernel(built: dict[str, Built]) -> None:
    """As many multi-head attention kernels as the graph has Attention nodes."""
    for made in built.values():
        wanted = sum(node.op_type == "Attention" for node in made.graph.graph.node)
        assert wanted == sum(layer.is_fused_attention for layer in made.listing.layers)


def test_softmax_of_fused_attention_is_float32(built: dict[str, Built]) -> None:
    """TensorRT-RTX keeps its kernels as source in the plan: scores, maximum, exponential and sum are float32 there.

    A step's kernel is spelt out; a prefill's names the type that its tensor cores add up scores in, and its softmax is
    of what those hold.
    """
    step, prefill = (
        _kernels(built[name].plan, f"_{kind}_mha_") for name, kind in (("step", "gemv"), ("prefill", "gemm"))
    )
    assert step
    for source in step:
        assert b"__myln_exp___myln_float___myln_float(" in source
        assert b"__myln_exp___myln_half" not in source
    assert prefill
    for traits in re.findall(rb"Kernel_traits_v2_flash_attention<\s*fmha::(\w+)", built["prefill"].plan):
        assert traits.endswith(b"_hmma_fp32_traits")
    assert b"float &elt = softmax.elt_" in built["prefill"].plan


def test_products_in_float32_are_not_rounded(built: dict[str, Built]) -> None:
    """TF32 is off in every plan: what half precision leaves in float32 is computed so."""
    for made in built.values():
        assert b"tf32=0" in made.plan
        assert b"tf32=1" not in made.plan


def test_caches_are_written_in_place(built: dict[str, Built]) -> None:
    """One kernel reads and writes each cache under its output's name; none copies it to another tensor of that size."""
    for name in ("prefill", "step"):
        made = built[name]
        for node in made.graph.graph.node:
            if node.op_type == "TensorScatter":
                written = [layer for layer in made.listing.layers if node.output[0] in layer.outputs]
                assert 1 == len(written)
                assert node.output[0] in written[0].inputs
                assert not made.listing.touching(node.input[0])


def test_attention_of_the_default_voice_reads_its_cache_as_it_lies(default_plans: dict[str, Built]) -> None:
    """In the step of the voice that ships, nothing but the scatter and the fused attention touches a cache."""
    made = default_plans["step"]
    for node in made.graph.graph.node:
        if node.op_type == "TensorScatter":
            cache = node.output[0]
            readers = [layer for layer in made.listing.touching(cache) if cache not in layer.outputs]
            assert readers
            assert all(layer.is_fused_attention for layer in readers), cache


def test_reference_audio_of_any_length_is_one_plan(tmp_path: Path) -> None:
    """The encoder is float32, and its profile reaches from the shortest audio that the voice takes to the longest."""
    manifest = write_small_bundle(tmp_path / "bundle", "window")
    assert manifest.reference is not None
    made = _build(tmp_path / "bundle", manifest, "encode", (encode_profile(manifest.reference),))
    samples, frames = made.listing.tensors
    assert ("samples", "Float", (((1, 160), (1, 1600)),)) == (samples.name, samples.dtype, samples.shapes)
    assert ("frames", "Int32") == (frames.name, frames.dtype)


def test_targets_that_rtx_has_no_code_for_are_refused(tiny_dir: Path) -> None:
    """sm90 is refused with the list of those that work."""
    manifest = load_manifest(tiny_dir)
    graph = tensorrt_graph(onnx.load(tiny_dir / manifest.prefill.graph), "prefill", "float16", 64)
    with pytest.raises(BackendError, match=r"builds for sm75, sm80, .*, not for 'sm90'"):
        PlanBuilder(load_flavor("tensorrt-rtx"), OPTIONS, ("sm90",)).build(graph, (PlanProfile(1, 16),))


def test_a_graph_that_tensorrt_cannot_read_is_refused_in_its_words(tiny_dir: Path) -> None:
    """A cache without a fixed length, as bundles have it, is named."""
    model = onnx.load(tiny_dir / "graphs" / "prefill.onnx")
    with pytest.raises(BackendError, match=r"(?s)cannot read prefill: .*static sequence length"):
        PlanBuilder(load_flavor("tensorrt-rtx"), OPTIONS, ("sm89",)).build(model, step_profiles(1))


def _kernels(plan: bytes, name: str) -> list[bytes]:
    """Return the source of the kernels whose name starts so."""
    bodies = [part.partition(b"\n}")[0] for part in plan.split(b"__global__")[1:]]
    return [body for body in bodies if name.encode() in body.partition(b"(\n")[0]]


def _ends(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    return [*model.graph.input, *model.graph.output]
