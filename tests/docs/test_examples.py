"""The Python examples of README and documentation run as they stand, against a real server; commands parse."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from antiphon.cli import app
from build_engines.tiny import make_tiny_bundle
from tests.server.fish_speech.recorded_bundle import recorded_array, recorded_checkpoint, write_recorded_bundle

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_IMPORT_PATHS = os.pathsep.join(str(ROOT / folder) for folder in (".", "clients", "proto/gen"))
_ENVIRONMENT = {**os.environ, "PYTHONPATH": _IMPORT_PATHS, "OMP_NUM_THREADS": "1"}


def blocks(language: str) -> list[tuple[str, str]]:
    """Every code block of a language, with the name of its page."""
    return [
        (str(page.relative_to(ROOT)), code)
        for page in PAGES
        for found, code in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if found == language
    ]


EXAMPLES = blocks("python")
COMMANDS = sorted(
    {
        match[1]
        for _, block in blocks("sh")
        for match in re.finditer(r"^(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?antiphon (.+)$", block, re.MULTILINE)
    }
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the tiny bundle, in a process of its own."""
    bundle = tmp_path_factory.mktemp("tiny")
    make_tiny_bundle(bundle)
    with _serving(bundle) as address:
        yield address


@pytest.fixture(scope="module")
def cloning_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that makes voices."""
    bundle = tmp_path_factory.mktemp("fish")
    write_recorded_bundle(bundle, recorded_checkpoint())
    with _serving(bundle, ANTIPHON_ENGINE__VOICES_DIR=str(tmp_path_factory.mktemp("voices"))) as address:
        yield address


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A directory with the recording that an example sends."""
    with wave.open(str(tmp_path / "anna.wav"), "wb") as file:
        file.setparams((1, 2, 44_100, 0, "NONE", ""))
        file.writeframes(recorded_array("reference_wav_int16").astype("<i2").tobytes())
    return tmp_path


@contextlib.contextmanager
def _serving(bundle: Path, **variables: str) -> Iterator[str]:
    options = ["--bundle", bundle, "--port", "0", "--metrics-port", "-1", "--log-format", "json"]
    command = [sys.executable, "-m", "antiphon", "serve", *options]
    with subprocess.Popen(
        command, cwd=ROOT, env=_ENVIRONMENT | variables, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        serving = next(line for line in map(json.loads, process.stderr) if line["event"] == "serving")
        yield f"localhost:{serving['port']}"
        process.terminate()
        process.stderr.read()


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{page}-{index}" for index, (page, _) in enumerate(EXAMPLES)])
def test_examples_run(example: tuple[str, str], server: str, scratch: Path) -> None:
    """An example of a page is a complete program that ends without an error or a warning."""
    done = _run(example[1].replace("localhost:50051", server), scratch)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_example_of_a_voice_makes_one(cloning_server: str, scratch: Path) -> None:
    """Where voices can be made, the example makes one and hears it, instead of being told that none can be made."""
    (example,) = (code for _, code in EXAMPLES if "create_voice" in code)
    done = _run(example.replace("localhost:50051", cloning_server), scratch)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (scratch / "morning.wav").stat().st_size > 1000


def _run(program: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, cwd=directory, env=_ENVIRONMENT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_exist(line: str) -> None:
    """Every `antiphon ...` in a shell block names a command and options that there are."""
    command: Any = typer.main.get_command(app)
    words = shlex.split(line, comments=True)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]

    command.make_context(line, words)
