"""A bundle is proven, or refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from build_engines.errors import ParityError
from build_engines.graph.storage import Storage
from build_engines.pointer.build import PointerNetworks
from build_engines.recipes import PointerRecipe, TalkerCorner, VocoderCorner
from build_engines.tiny import make_tiny_bundle
from build_engines.verification.golden import write_golden
from build_engines.verification.verify import PointerVerifier
from trt_engines.manifest_writing import write_manifest

QUICK = PointerRecipe((TalkerCorner(1, 64, 64), TalkerCorner(4, 96, 5)), (VocoderCorner(2, 2),), steps=8)


def verifier_of(bundle_dir: Path, networks: PointerNetworks) -> PointerVerifier:
    """A verifier with a short recipe and the strictest tolerance."""
    return networks.verifier(bundle_dir, QUICK, Storage.FLOAT32, Storage.FLOAT32)


def damage(graph: Path, initializer: str, factor: float) -> None:
    """Scale one stored weight."""
    model = onnx.load(graph)
    (tensor,) = (item for item in model.graph.initializer if item.name == initializer)
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(factor), initializer))
    onnx.save(model, graph)


def test_the_tiny_bundle_equals_torch(tiny_bundle: Path, tiny_networks: PointerNetworks) -> None:
    """Every case of the recipe is within the tolerance of float32, and no draw differs."""
    results = verifier_of(tiny_bundle, tiny_networks).verify()

    assert len(results) == 9
    assert all(result.worst_error <= result.tolerance for result in results)
    assert all(result.worst_error == 0 for result in results if "draws" in result.case or "rules" in result.case)


@pytest.mark.parametrize(
    ("graph", "weight", "case"),
    [
        ("step", "slow.layers.1.ffn.w1", "caches|draws"),
        ("step", "advance_head.weight", "share of other draws"),
        ("prefill", "slow.layers.0.attention.wqkv.weight", "caches"),
        ("vocode", "tail.head.weight", "samples"),
    ],
)
def test_a_damaged_graph_is_refused(
    tmp_path: Path, tiny_networks: PointerNetworks, graph: str, weight: str, case: str
) -> None:
    """One weight that is not the network's makes the proof fail, naming graph and case."""
    manifest = make_tiny_bundle(tmp_path)
    damage(tmp_path / "graphs" / f"{graph}.onnx", weight, 1.7)
    write_manifest(tmp_path, manifest)
    verifier = verifier_of(tmp_path, tiny_networks)

    with pytest.raises(ParityError, match=rf"(?s)cases stray too far from torch.*({case})"):
        verifier.verify()


def test_golden_vectors_are_what_the_graphs_do(tmp_path: Path, tiny_networks: PointerNetworks) -> None:
    """The vectors of a bundle are hashed with it, and hold a whole segment with everything that went in."""
    make_tiny_bundle(tmp_path)
    verifier = verifier_of(tmp_path, tiny_networks)
    write_golden(verifier)

    assert {"golden/talker.npz", "golden/vocode.npz"} <= write_manifest(tmp_path, verifier.manifest).hashes.keys()
    with np.load(tmp_path / "golden" / "talker.npz") as talker, np.load(tmp_path / "golden" / "vocode.npz") as vocode:
        assert len(talker["rows"]) == len(talker["random"]) + 1
        assert len(vocode["samples"]) == len(vocode["frames"]) * 240
