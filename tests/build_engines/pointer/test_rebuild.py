"""Graphs made anew from the weights they hold."""

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from build_engines.errors import CheckpointError
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.storage import Storage
from build_engines.networks.timbre import TimbredTail
from build_engines.pointer.build import PointerBuild, PointerNetworks
from build_engines.pointer.bundle import PointerBundle
from build_engines.pointer.new_voices import NewVoices
from build_engines.pointer.rebuild import rebuild, stored_build
from build_engines.pointer.stored_weights import StoredWeights
from build_engines.random_weights import random_decoder, random_talker
from build_engines.recipes import PointerRecipe, TalkerCorner, VocoderCorner
from build_engines.tiny import TINY_CODEC, TINY_TALKER
from tests.trt_engines.vocoder_script import vocode_whole
from trt_engines.manifest import ParitySpec
from trt_engines.manifest_loading import load_manifest
from trt_engines.manifest_writing import write_manifest
from trt_engines.onnx_runtime.state_vocoder import StateVocoder

QUICK = PointerRecipe((TalkerCorner(2, 64, 64),), (VocoderCorner(2, 2),), steps=6)
SHIPPED = Path(__file__).parents[3] / "voices" / "default"
VOICE = {"language_codes": ["en-US"], "gender": "female", "description": "A test."}


@pytest.fixture
def bundle_dir(tmp_path: Path, tiny_networks: PointerNetworks) -> Path:
    """A proven bundle with weights in float16, a model card and a range of its own."""
    documents, options = {"MODEL_CARD.md": "# Test\n"}, {"max_frames": 77, "min_frames": 3}
    storages = Storage.FLOAT16, Storage.FLOAT32
    build = PointerBuild(tiny_networks, "test", {"anna": VOICE}, *storages, documents, options, QUICK)
    build.write(tmp_path / "bundle")
    return tmp_path / "bundle"


def contents(bundle_dir: Path) -> dict[str, bytes]:
    """Every file of a bundle."""
    return {str(path.relative_to(bundle_dir)): path.read_bytes() for path in bundle_dir.rglob("*") if path.is_file()}


def test_the_same_builder_makes_the_same_files(bundle_dir: Path, tmp_path: Path) -> None:
    """Weights, voices, documents, golden vectors and results of the proof come out as they were, byte for byte."""
    rebuild(bundle_dir, tmp_path / "again", TINY_CODEC, TINY_TALKER, QUICK)

    assert contents(bundle_dir) == contents(tmp_path / "again")


def test_the_shipped_voice_has_the_graphs_of_this_builder(tmp_path: Path) -> None:
    """A change of a builder that was not carried over into the shipped bundle is noticed here.

    When this fails: `python -m build_engines rebuild voices/default`, then `half-precision voices/default`.
    """
    build = stored_build(SHIPPED)
    made = build.bundle(build.talker_storage, build.vocoder_storage).write(tmp_path).hashes
    shipped = load_manifest(SHIPPED).hashes

    assert made == {name: shipped[name] for name in shipped if not name.startswith("golden/")}


def test_results_of_a_changed_graph_are_replaced(bundle_dir: Path, tmp_path: Path) -> None:
    """A graph that comes out otherwise gets the results of the new proof, the others keep what is known of them."""
    before, path = load_manifest(bundle_dir), bundle_dir / "graphs" / "vocode.onnx"
    model = onnx.load(path)
    model.producer_name = "another builder"
    onnx.save(model, path)
    results = tuple(ParitySpec(f"graphs/{graph}.onnx", "gpu", "by ear", 1.0, 2.0) for graph in ("step", "vocode"))
    write_manifest(bundle_dir, dataclasses.replace(before, verification=results))
    rebuilt = rebuild(bundle_dir, bundle_dir, TINY_CODEC, TINY_TALKER, QUICK)

    assert rebuilt.verification[0] == results[0]
    assert results[1] not in rebuilt.verification
    assert {"graphs/vocode.onnx"} == {result.graph for result in rebuilt.verification[1:]}
    assert all("against the stored weights" in result.case for result in rebuilt.verification[1:])


def test_quantized_weights_are_read_as_the_graph_computes_them(tmp_path: Path) -> None:
    """Every stored form comes back as float32, in the shape that was asked for."""
    weights = np.random.default_rng(0).standard_normal((700, 100)).astype(np.float32)
    for storage, error in ((Storage.FLOAT32, 0), (Storage.FLOAT16, 1e-3), (Storage.PACKED, 1e-2)):
        graph = GraphBuilder("one", storage)
        graph.output("out", graph.weight("w", weights), [700, 100])
        onnx.save(graph.model(), tmp_path / "one.onnx")
        stored = StoredWeights.read(tmp_path / "one.onnx")

        assert storage == stored.storage
        assert np.abs(weights - stored.get("w", 700, 100)).max() <= error * np.abs(weights).max()


def test_new_voices_leave_the_first_one_as_it_was(tmp_path: Path) -> None:
    """A bundle of one voice is given others: their files, their width, and samples of the first within rounding."""
    codec = dataclasses.replace(TINY_CODEC, timbre_width=0)
    alone = PointerBundle(
        "one", codec, random_decoder(codec, 0), TINY_TALKER, random_talker(TINY_TALKER, 1), {"anna": VOICE}
    ).write(tmp_path / "one")
    torch.manual_seed(1)
    timbre = TimbredTail(dataclasses.replace(codec, timbre_width=3))
    for weight in timbre.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    vector = [1.0, 0.5, -0.5, 0.1, -0.4]
    voices = {"anna": VOICE, "bert": {**VOICE, "vector": vector}}
    rebuilt = rebuild(
        tmp_path / "one", tmp_path / "two", codec, TINY_TALKER, QUICK, NewVoices(timbre.state_dict(), 3, voices)
    )

    assert (0, 5) == (alone.vocode.voice_width, rebuilt.vocode.voice_width)
    assert ("voices/anna.json", "voices/bert.json") == rebuilt.voice_files
    frames = np.random.default_rng(2).integers(0, 100, (20, alone.frame.width)).astype(np.int32)
    before, after = (
        vocode_whole(StateVocoder(tmp_path / name, manifest, 1), frames, 3)
        for name, manifest in (("one", alone), ("two", rebuilt))
    )
    np.testing.assert_allclose(after, before, atol=1e-4)
    bert = np.asarray(vector, np.float32)
    other = vocode_whole(StateVocoder(tmp_path / "two", rebuilt, 1), frames, 3, bert)
    assert np.abs(other - after).max() > 0.01


def test_another_family_is_refused(bundle_dir: Path) -> None:
    """Only the family whose builder this is can be rebuilt."""
    write_manifest(bundle_dir, dataclasses.replace(load_manifest(bundle_dir), family="other"))

    with pytest.raises(CheckpointError, match="is of the family other; only bundles of the family pointer"):
        rebuild(bundle_dir, bundle_dir)


def test_other_sizes_are_refused(bundle_dir: Path) -> None:
    """Sizes that are not the bundle's are told by the first weight that does not fit."""
    with pytest.raises(CheckpointError, match=r"vocode\.onnx holds decoder\.inlet\.weight as .*which is not \[320, 16"):
        rebuild(bundle_dir, bundle_dir)
