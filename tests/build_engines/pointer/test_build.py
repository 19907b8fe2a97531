"""From torch networks to a bundle on disk."""

import dataclasses
from pathlib import Path

import pytest
import torch

from build_engines.errors import ParityError
from build_engines.graph.storage import Storage
from build_engines.pointer.build import PointerBuild, PointerNetworks
from build_engines.recipes import TOLERANCES, PointerRecipe, TalkerCorner, Tolerance, VocoderCorner
from build_engines.tiny import TINY_CODEC, TINY_TALKER
from trt_engines.manifest_loading import load_manifest

QUICK = PointerRecipe((TalkerCorner(2, 64, 64),), (VocoderCorner(2, 2),), steps=6)
VOICE = {"language_codes": ["en-US"], "gender": "female", "description": "A test."}


def build_of(networks: PointerNetworks, storage: Storage) -> PointerBuild:
    """A build with one voice and a model card."""
    documents = {"MODEL_CARD.md": "# Test\n"}
    return PointerBuild(networks, "test", {"anna": VOICE}, storage, storage, documents, recipe=QUICK)


@pytest.mark.parametrize("storage", [Storage.FLOAT16, Storage.PACKED])
def test_a_proven_bundle_is_written(tmp_path: Path, tiny_networks: PointerNetworks, storage: Storage) -> None:
    """The bundle holds graphs, voice, documents and golden vectors, and its manifest the results of the proof."""
    build_of(tiny_networks, storage).write(tmp_path / "bundle")
    manifest = load_manifest(tmp_path / "bundle")

    assert (tmp_path / "bundle" / "MODEL_CARD.md").read_text() == "# Test\n"
    assert manifest.voice_files == ("voices/anna.json",)
    assert {"graphs/step.onnx", "graphs/vocode.onnx"} == {result.graph for result in manifest.verification}


def test_a_bundle_that_fails_leaves_the_old_one(
    tmp_path: Path, tiny_networks: PointerNetworks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the proof fails nothing is written: what lay there before stays."""
    build = build_of(tiny_networks, Storage.FLOAT32)
    build.write(tmp_path / "bundle")
    before = load_manifest(tmp_path / "bundle")
    monkeypatch.setitem(TOLERANCES, Storage.FLOAT32, Tolerance(0, 0, 0, 0, holds_phase=True))

    with pytest.raises(ParityError, match="cases stray too far from torch"):
        dataclasses.replace(build, bundle_id="other").write(tmp_path / "bundle")
    assert load_manifest(tmp_path / "bundle") == before


def test_checkpoints_of_training_load(tmp_path: Path, tiny_networks: PointerNetworks) -> None:
    """The files that training leaves, with optimizer state beside the weights, become networks."""
    torch.save({"codec": tiny_networks.codec.state_dict(), "step": 3}, tmp_path / "codec.pt")
    torch.save({"talker": tiny_networks.talker.state_dict(), "step": 4}, tmp_path / "talker.pt")

    loaded = PointerNetworks.load(tmp_path / "codec.pt", tmp_path / "talker.pt", TINY_CODEC, TINY_TALKER)
    for name, tensor in loaded.talker.state_dict().items():
        torch.testing.assert_close(tensor, tiny_networks.talker.state_dict()[name])
