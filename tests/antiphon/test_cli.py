"""The command line, as somebody in front of a terminal meets it."""

import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.blocking_server import blocking_server
from tests.e2e.server_process import ROOT, environment


@pytest.fixture(scope="module")
def server(tiny_bundle: Path) -> Iterator[str]:
    """The address of a running server."""
    with blocking_server(tiny_bundle) as target:
        yield target


def antiphon(*arguments: str | Path, text: str = "", bundle: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs `antiphon`."""
    command = [sys.executable, "-m", "antiphon", *map(str, arguments)]
    variables = environment(bundle)
    return subprocess.run(
        command, input=text, env=variables, capture_output=True, text=True, timeout=100, check=False, cwd=ROOT
    )


def frame_count(path: Path) -> int:
    """Samples in a WAV file."""
    with wave.open(str(path)) as file:
        return file.getnframes()


def test_help_shows_examples() -> None:
    """Every command is listed, and the examples stand in lines of their own."""
    shown = antiphon("--help").stdout

    assert '\n    antiphon say "Good morning." -o out.wav    write a file\n' in shown
    for command in ("serve", "say", "voices", "demo", "bundle", "build"):
        assert f"\n  {command} " in shown


def test_help_loads_nothing_heavy() -> None:
    """Asking for help loads neither gRPC nor numpy nor a runtime, so it is there at once."""
    program = (
        "import sys, antiphon.cli\n"
        "print([name for name in ('grpc', 'numpy', 'onnxruntime', 'torch', 'server') if name in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], env=environment(ROOT), capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert "[]" == loaded.stdout.strip()


def test_say_writes_a_file(server: str, tmp_path: Path) -> None:
    """A text becomes a file, and the same seed the same file."""
    for name in ("a.wav", "b.wav"):
        said = antiphon("say", "Hello there.", "-o", tmp_path / name, "--seed", "7", "--server", server)
        assert (0, "") == (said.returncode, said.stderr)
        assert "s of speech, first audio after" in said.stdout

    assert frame_count(tmp_path / "a.wav") > 1000
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


def test_say_reads_standard_input(server: str, tmp_path: Path) -> None:
    """A dash speaks what is piped in, the same as if it had been given whole."""
    options = ("--seed", "7", "--server", server)
    piped = antiphon("say", "-", "-o", tmp_path / "a.wav", *options, text="Hello there.")
    whole = antiphon("say", "Hello there.", "-o", tmp_path / "b.wav", *options)

    assert (0, 0) == (piped.returncode, whole.returncode)
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


def test_voices_are_a_table(server: str) -> None:
    """Name, language, rate, license and description, the default marked."""
    lines = antiphon("voices", "--server", server).stdout.splitlines()

    assert ["NAME", "LANGUAGES", "RATE", "LICENSE", "DESCRIPTION"] == lines[0].split()
    assert lines[1].startswith("tiny (default)  en-US      24000 Hz")
    assert 3 == len(lines)


@pytest.mark.parametrize("command", [("say", "Hello.", "-o", "never.wav"), ("voices",)], ids=["say", "voices"])
def test_without_a_server_the_way_to_one_is_told(command: tuple[str, ...]) -> None:
    """No traceback, but the address that was tried and the command that starts a server."""
    failed = antiphon(*command, "--server", "127.0.0.1:1")

    assert (1, "") == (failed.returncode, failed.stdout)
    assert failed.stderr.startswith("antiphon: no server answers at 127.0.0.1:1. Start one with `antiphon serve`")


def test_the_servers_own_sentence_is_shown(server: str) -> None:
    """A refusal of the server is passed on as it is."""
    failed = antiphon("say", "Hello.", "-v", "tinny", "-o", "never.wav", "--server", server)

    assert 1 == failed.returncode
    assert "antiphon: There is no voice named 'tinny'; did you mean 'tiny'" in failed.stderr


def test_the_demo_speaks_and_measures(tiny_bundle: Path, tmp_path: Path) -> None:
    """One command starts a server, speaks through it, writes the file and says what to do next."""
    shown = antiphon("demo", "--text", "Hello there.", "-o", tmp_path / "demo.wav", "--bundle", tiny_bundle)

    assert (0, "") == (shown.returncode, shown.stderr)
    for words in ("Time to first audio", "Real-time factor", str(tmp_path / "demo.wav"), "antiphon serve"):
        assert words in shown.stdout
    assert frame_count(tmp_path / "demo.wav") > 1000


def test_the_demo_wants_words(tiny_bundle: Path, tmp_path: Path) -> None:
    """A text without anything to speak is a sentence, not a traceback."""
    failed = antiphon("demo", "--text", " ", "-o", tmp_path / "demo.wav", "--bundle", tiny_bundle)

    assert 1 == failed.returncode
    assert "antiphon: " in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_bundle_is_inspected(tiny_bundle: Path, tmp_path: Path) -> None:
    """What a bundle holds, or what is wrong with it."""
    shown = antiphon("bundle", "inspect", tiny_bundle)
    failed = antiphon("bundle", "inspect", tmp_path)

    assert "antiphon-tiny" in shown.stdout
    assert (1, True) == (failed.returncode, failed.stderr.startswith("antiphon: "))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--bundle", "nowhere"), "antiphon: There is no voice bundle at nowhere"),
        (("--port", "99999"), "antiphon: Setting listen.port must lie between 0 and 65535"),
        (("--settings", "nowhere.toml"), "antiphon: Cannot read the settings file nowhere.toml"),
    ],
    ids=["bundle", "port", "file"],
)
def test_serve_says_what_is_wrong(options: tuple[str, ...], sentence: str) -> None:
    """A setting that cannot be is a sentence and exit code 1."""
    failed = antiphon("serve", *options)

    assert (1, True) == (failed.returncode, failed.stderr.startswith(sentence))


def test_building_hands_its_arguments_on() -> None:
    """The help of the builder is shown by `antiphon build`."""
    assert "pointer" in antiphon("build", "--help").stdout
