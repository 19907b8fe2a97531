"""From a directory of released files to a proven bundle, or to a refusal."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from build_engines.__main__ import main
from build_engines.errors import CheckpointError, ParityError
from build_engines.fish_speech import build as build_module
from build_engines.fish_speech.build import FishBuild
from build_engines.fish_speech.bundle import FishBundle
from build_engines.fish_speech.checkpoint import load_checkpoint
from build_engines.fish_speech.verify import FishVerifier
from trt_engines.manifest_loading import load_manifest


@pytest.fixture
def checkpoint_dir(vectors: Any, tmp_path: Path) -> Path:
    """A checkpoint directory of the tiny models, laid out as the released one."""
    directory = tmp_path / "checkpoint"
    directory.mkdir()
    for source in ("tokenizer/tokenizer.tiktoken", "tokenizer/special_tokens.json", "e2e/config.json"):
        shutil.copy(vectors.root / source, directory)
    shutil.copy(vectors.root / "codec_tiny/config.json", directory / "firefly.json")
    torch.save(load_file(vectors.root / "e2e/state_dict.safetensors"), directory / "model.pth")
    torch.save(load_file(vectors.root / "codec_tiny/state_dict.safetensors"), directory / "firefly.pth")
    return directory


def test_the_command_makes_a_proven_bundle(
    checkpoint_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every graph equals torch, streaming is exact, and golden vectors and a card lie in the bundle."""
    main(["fish-speech-1.5", "--checkpoint", str(checkpoint_dir), "--out", str(tmp_path / "bundle")])
    assert "graphs/encode.onnx, noise: share of other codes: 0" in capsys.readouterr().out
    errors = {result.case: result.worst_error for result in load_manifest(tmp_path / "bundle").verification}
    assert errors["whole and cut into calls of 1 and 5 frames"] == 0
    assert errors["prompts of 29 and 11 rows: share of other draws"] == 0
    assert errors["prompts of 29 and 11 rows: caches"] < 1e-5
    assert errors["12 frames: samples"] < 1e-4
    with np.load(tmp_path / "bundle/golden/talker.npz") as golden:
        assert golden["rows"].shape == (10, 9)
    assert "Where the original is wrong, this bundle is right" in (tmp_path / "bundle/MODEL_CARD.md").read_text()


def test_the_command_says_why_not(checkpoint_dir: Path, tmp_path: Path) -> None:
    """A checkpoint that cannot be used ends it with one sentence."""
    (checkpoint_dir / "model.pth").write_bytes(b"PK")
    with pytest.raises(SystemExit, match="is not a readable torch checkpoint"):
        main(["fish-speech-1.5", "--checkpoint", str(checkpoint_dir), "--out", str(tmp_path / "bundle")])


def test_a_bundle_of_other_weights_is_refused(checkpoint_dir: Path, tmp_path: Path) -> None:
    """Graphs that do not do what torch does are told case by case."""
    checkpoint = load_checkpoint(checkpoint_dir)
    bundle = FishBundle("fish-test", checkpoint)
    manifest = bundle.write(tmp_path / "bundle")
    checkpoint.talker.slow.layers[0].ffn.w2.weight.data *= 1.5
    checkpoint.codec.head.conv_post.conv.weight.data *= 1.5
    verifier = FishVerifier(tmp_path / "bundle", manifest, checkpoint, bundle.talker_weights())
    with pytest.raises(ParityError, match=r"cases stray too far from torch: .*caches.*samples"):
        verifier.verify()


def test_what_fails_leaves_no_bundle_behind(
    checkpoint_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint that cannot be used and a bundle that does not pass leave no directory that looks like one."""

    def fail(verifier: FishVerifier) -> None:
        raise ParityError("too far")

    monkeypatch.setattr(build_module, "write_golden", fail)
    with pytest.raises(ParityError):
        FishBuild(checkpoint_dir).write(tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == [checkpoint_dir]
    (checkpoint_dir / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"lacks config\.json"):
        FishBuild(checkpoint_dir).write(tmp_path / "bundle")


def test_only_bundles_are_replaced(checkpoint_dir: Path, tmp_path: Path) -> None:
    """A directory of other files is refused; an older bundle gives way, here to one that repeats the original."""
    with pytest.raises(FileExistsError, match="holds files but no bundle"):
        FishBuild(checkpoint_dir).write(checkpoint_dir)
    old = tmp_path / "bundle/manifest.json"
    old.parent.mkdir()
    old.write_text("{}")
    manifest = FishBuild(checkpoint_dir, upstream_compat=True).write(old.parent)
    assert manifest.verification[1].worst_error == 0
    assert "--upstream-compat" in (old.parent / "MODEL_CARD.md").read_text()
