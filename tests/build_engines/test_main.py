"""The command line of the builders."""

from pathlib import Path

import pytest
import torch

from build_engines.__main__ import main
from build_engines.networks.latent_codec import LatentCodec, LatentCodecConfig


def test_help_shows_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` names the commands and gives examples."""
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])

    shown = capsys.readouterr().out
    assert all(f"python -m build_engines {command}" in shown for command in ("tiny", "pointer", "verify"))


def test_tiny_reports_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tiny` writes the bundle and says where and how large it is."""
    main(["tiny", str(tmp_path / "bundle"), "--seed", "3"])

    assert "antiphon-tiny" in capsys.readouterr().out
    assert (tmp_path / "bundle" / "manifest.json").exists()


def test_a_checkpoint_of_another_size_is_refused(tmp_path: Path) -> None:
    """A codec that does not have the sizes of the default voice does not load."""
    small = LatentCodec(LatentCodecConfig(wide=32, narrow=32))
    torch.save({"codec": small.state_dict()}, tmp_path / "codec.pt")

    with pytest.raises(SystemExit, match=r"codec\.pt holds a codec of other sizes: (?s:.*)size mismatch"):
        main(["verify", str(tmp_path), "--codec", str(tmp_path / "codec.pt"), "--talker", str(tmp_path / "talker.pt")])


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file without the weights says what it has, what it lacks, and where to get it."""
    torch.save({"optimizer": {}, "step": 1}, tmp_path / "codec.pt")
    arguments = ["pointer", str(tmp_path / "out"), "--codec", str(tmp_path / "codec.pt"), "--talker", "talker.pt"]

    with pytest.raises(SystemExit, match="has the keys optimizer, step but not 'codec'; give a codec checkpoint of"):
        main(arguments)
