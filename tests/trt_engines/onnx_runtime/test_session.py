"""Opening graphs."""

import dataclasses
from pathlib import Path

import pytest

from tests.trt_engines.small_bundle import small_manifest
from trt_engines.errors import BackendError, ManifestError
from trt_engines.graph_tensors import prefill_tensors, step_tensors, vocode_tensors
from trt_engines.manifest import AudioSpec, FrameSpec, KvSpec, Manifest
from trt_engines.onnx_runtime.session import open_session

SMALL = small_manifest()
WRONG: dict[str, tuple[Manifest, str]] = {
    "other head size": (
        dataclasses.replace(SMALL, kv=KvSpec(1, 2, 16, "float32")),
        r"input 'k_0' as float32\[B, 2, T, 32\] but the manifest implies float32\[B, 2, T, 16\]",
    ),
    "other cache type": (
        dataclasses.replace(SMALL, kv=KvSpec(1, 2, 32, "float16")),
        r"input 'k_0' as float32\[.*\] but the manifest implies float16",
    ),
    "more layers": (
        dataclasses.replace(SMALL, kv=KvSpec(2, 2, 32, "float32")),
        r"lacks the input 'k_1', which the manifest calls for",
    ),
    "no state": (
        dataclasses.replace(SMALL, state=()),
        r"has the input 'active', which the manifest does not call for",
    ),
    "wider frame": (
        dataclasses.replace(SMALL, frame=FrameSpec("int32", 3)),
        r"output 'frame' as int32\[B, 2\] but the manifest implies int32\[B, 3\]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_graph_that_the_manifest_does_not_describe_is_refused(small_bundle: Path, case: str) -> None:
    """The error names manifest, graph, tensor, both shapes and the remedy."""
    manifest, sentence = WRONG[case]

    with pytest.raises(ManifestError, match=rf"manifest\.json: graph 'graphs/step\.onnx' .*{sentence}") as caught:
        open_session(small_bundle, "graphs/step.onnx", manifest, step_tensors)

    assert str(caught.value).endswith("Correct the manifest, or rebuild the bundle with `python -m build_engines`.")


def test_an_axis_that_must_be_free_may_not_be_fixed(small_bundle: Path) -> None:
    """A prefill graph is no step graph."""
    with pytest.raises(ManifestError, match=r"graph 'graphs/step\.onnx'"):
        open_session(small_bundle, "graphs/step.onnx", SMALL, prefill_tensors)


def test_good_graphs_are_opened(small_bundle: Path) -> None:
    """Samples per frame are no axis of the graph, so another number opens as well."""
    manifest = dataclasses.replace(SMALL, audio=AudioSpec(24_000, 8))

    assert open_session(small_bundle, "graphs/vocode.onnx", manifest, vocode_tensors).get_outputs()


def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    """The error names the file, the runtime and what to do."""
    (tmp_path / "x.onnx").write_bytes(b"no graph")

    with pytest.raises(BackendError, match=r"x\.onnx: ONNX Runtime .* cannot load this graph: .* or rebuild"):
        open_session(tmp_path, "x.onnx", SMALL, step_tensors)
