"""What `antiphon bundle inspect` says."""

import dataclasses
from pathlib import Path

import pytest

from tests.trt_engines.small_bundle import small_manifest
from trt_engines.bundle_description import describe_bundle, slot_bytes
from trt_engines.errors import ManifestError
from trt_engines.manifest import ReferenceSpec


def test_the_description_tells_what_a_bundle_can_do(small_bundle: Path) -> None:
    """Operations, tensors, parameters, memory, voices, verification and files are in it."""
    text = describe_bundle(small_bundle)

    for line in (
        "  audio         24000 Hz, 4 samples a frame",
        "  step     in   prompt_count  int32[B]",
        "  heat  default 1  0.1 to 10",
        "  KV cache       204.8 kB  at most; 512 bytes a position, grown as needed",
        "  ida  voices/ida.json",
        "  graphs/step.onnx  onnxruntime  2 rows  error 1e-06  tolerance 0.0001",
        "  frontend/ids.json    3 bytes",
    ):
        assert line in text.splitlines()


def test_a_bundle_that_clones_shows_its_encoder(window_bundle: Path) -> None:
    """The reference graph and its tensors are in the description."""
    lines = describe_bundle(window_bundle).splitlines()

    assert "  reference  out  frames        int32[N, F, 2]" in lines
    assert any(line.startswith("  reference  graphs/encode.onnx") and line.endswith("16000 Hz") for line in lines)


def test_a_window_vocoder_keeps_frames() -> None:
    """Its memory is its context."""
    manifest = small_manifest("window")

    assert {"kv": 512 * 400, "sampler": 8, "vocoder": 2 * 2 * 4} == slot_bytes(manifest)


def test_a_wrong_bundle_is_not_described(tmp_path: Path) -> None:
    """The error of loading comes out."""
    with pytest.raises(ManifestError, match="is not a voice bundle"):
        describe_bundle(tmp_path)


def test_a_reference_graph_is_one_of_the_graph_files() -> None:
    """What clones a voice is part of the bundle."""
    reference = ReferenceSpec("graphs/reference.onnx", 16_000, 3.0, 30.0, needs_transcript=True)

    assert "graphs/reference.onnx" in dataclasses.replace(small_manifest(), reference=reference).graph_files
