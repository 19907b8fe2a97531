"""From a directory of released files to a proven bundle, or to a refusal."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from build_engines.__main__ import main
from build_engines.fish_speech import build as build_module
from build_engines.fish_speech.build import FishBuild
from build_engines.fish_speech.bundle import FishBundle
from build_engines.fish_speech.checkpoint import load_checkpoint
from build_engines.fish_speech.errors import CheckpointError
from build_engines.fish_speech.recipe import FISH_TOLERANCES
from build_engines.fish_speech.verify import FishVerifier
from build_engines.graph.storage import Storage
from build_engines.verification.errors import ParityError


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


@pytest.mark.parametrize("upstream_compat", [False, True])
def test_a_checkpoint_becomes_a_proven_bundle(checkpoint_dir: Path, tmp_path: Path, upstream_compat: bool) -> None:
    """Every graph equals torch, streaming is exact, and golden vectors and a card lie in the bundle."""
    manifest = FishBuild(checkpoint_dir, upstream_compat=upstream_compat).write(tmp_path / "bundle")
    errors = {result.case: result.worst_error for result in manifest.verification}
    assert errors["whole and cut into calls of 1 and 5 frames"] == 0
    assert errors["prompts of 29 and 11 rows: share of other draws"] == 0
    assert errors["prompts of 29 and 11 rows: caches"] < 1e-5
    assert errors["noise: share of other codes"] == 0
    with np.load(tmp_path / "bundle/golden/talker.npz") as golden:
        assert golden["rows"].shape == (10, 9)
    assert ("--upstream-compat" in (tmp_path / "bundle/MODEL_CARD.md").read_text()) == upstream_compat


def test_quantized_bundles_are_proven_within_wider_limits(checkpoint_dir: Path, tmp_path: Path) -> None:
    """Weights of 16 bits pass with a visible error."""
    build = FishBuild(checkpoint_dir, storage=Storage.FLOAT16, codec_storage=Storage.FLOAT16)
    errors = {result.case: result.worst_error for result in build.write(tmp_path / "bundle").verification}
    assert 1e-5 < errors["prompts of 29 and 11 rows: caches"] < 5e-3


def test_a_bundle_of_other_weights_is_refused(checkpoint_dir: Path, tmp_path: Path) -> None:
    """Graphs that do not do what torch does are told case by case."""
    checkpoint = load_checkpoint(checkpoint_dir)
    bundle = FishBundle("fish-test", checkpoint)
    manifest = bundle.write(tmp_path / "bundle")
    checkpoint.talker.slow.layers[0].ffn.w2.weight.data *= 1.5
    checkpoint.codec.head.conv_post.conv.weight.data *= 1.5
    exact = FISH_TOLERANCES[Storage.FLOAT32]
    verifier = FishVerifier(tmp_path / "bundle", manifest, checkpoint, bundle.talker_weights(), exact, exact)
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


def test_a_directory_of_other_files_is_not_overwritten(checkpoint_dir: Path, tmp_path: Path) -> None:
    """Only an empty directory or a bundle is replaced."""
    with pytest.raises(FileExistsError, match="holds files but no bundle"):
        FishBuild(checkpoint_dir).write(checkpoint_dir)
    FishBuild(checkpoint_dir).write(tmp_path / "bundle")
    assert FishBuild(checkpoint_dir, "again").write(tmp_path / "bundle").id == "again"


def test_the_command_builds_or_says_why_not(
    checkpoint_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`fish-speech-1.5` reports the proof, and a checkpoint that cannot be used ends it with one sentence."""
    arguments = ["fish-speech-1.5", "--checkpoint", str(checkpoint_dir), "--out", str(tmp_path / "bundle")]
    main([*arguments, "--codec-storage", "float16"])
    assert "graphs/encode.onnx, noise: share of other codes: 0" in capsys.readouterr().out
    (checkpoint_dir / "model.pth").write_bytes(b"PK")
    with pytest.raises(SystemExit, match="is not a readable torch checkpoint"):
        main(arguments)
