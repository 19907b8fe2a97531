"""The wheel is complete: what `pip install antiphon` brings speaks without the repository."""

import os
import subprocess
import sys
import wave
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def test_wheel_speaks(installed: Path, tmp_path: Path) -> None:
    """The demo of an unpacked wheel writes the speech of the voice inside it."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", "antiphon", "demo", "--text", "It works.", "--out", tmp_path / "works.wav"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)

    with wave.open(str(tmp_path / "works.wav")) as speech:
        assert speech.getnframes() / speech.getframerate() > 0.3


def test_wheel_holds_licenses_and_types(installed: Path) -> None:
    """License, notices and the marks of typed packages travel with the code."""
    names = {str(path.relative_to(installed)) for path in installed.glob("**/*") if path.is_file()}

    assert {"antiphon_client/py.typed", "antiphon/voices/default/NOTICE"} <= names
    assert {Path(name).name for name in names if "dist-info/licenses" in name} == {"LICENSE", "NOTICE"}
