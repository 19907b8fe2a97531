"""Voices made, listed and deleted from the command line."""

import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.antiphon.test_cli import antiphon
from tests.clients.blocking_server import blocking_server
from tests.server.fish_speech.recorded_bundle import (
    RECORDED,
    recorded_array,
    recorded_checkpoint,
    write_recorded_bundle,
)

WHO = ("--transcript", RECORDED["reference_text"], "--speaker", "Anna", "--statement", "I agree.", "--language", "en")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that makes voices."""
    directory = tmp_path_factory.mktemp("cloning")
    write_recorded_bundle(directory / "bundle", recorded_checkpoint())
    with blocking_server(directory / "bundle", engine__voices_dir=directory / "voices") as target:
        yield target


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The recorded reference as a file."""
    with wave.open(str(tmp_path / "anna.wav"), "wb") as file:
        file.setparams((1, 2, 44_100, 0, "NONE", ""))
        file.writeframes(recorded_array("reference_wav_int16").astype("<i2").tobytes())
    return tmp_path / "anna.wav"


def test_a_voice_is_made_and_deleted(server: str, recording: Path) -> None:
    """It is listed in between, and what to do next is told."""
    made = antiphon("voices", "create", "anna", recording, *WHO, "--given", "2026-05-01", "--server", server)
    assert (0, "") == (made.returncode, made.stderr)
    assert 'Voice anna can speak: antiphon say "Good morning." --voice anna\n' == made.stdout
    assert "anna" in antiphon("voices", "--server", server).stdout

    deleted = antiphon("voices", "delete", "anna", "--server", server)
    assert (0, "Voice anna is deleted.\n") == (deleted.returncode, deleted.stdout)
    assert "anna" not in antiphon("voices", "--server", server).stdout


def test_refusals_are_sentences(server: str, recording: Path, tmp_path: Path) -> None:
    """The server's own sentence, or what is wrong with the file; never a traceback."""
    for arguments, sentence in (
        (("create", "recorded", recording, *WHO), "antiphon: There is a voice named 'recorded' already"),
        (("create", "bob", tmp_path / "no.wav", *WHO), f"antiphon: {tmp_path / 'no.wav'} cannot be read: No such file"),
        (("delete", "nobody"), "antiphon: There is no custom voice named 'nobody'"),
    ):
        failed = antiphon("voices", *arguments, "--server", server)
        assert (1, "") == (failed.returncode, failed.stdout)
        assert failed.stderr.startswith(sentence)
