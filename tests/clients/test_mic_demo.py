"""The microphone demo: piped text into a file, and what it counts."""

import subprocess
import sys
import wave
from pathlib import Path

import pytest

import mic_demo
from tests.clients.blocking_server import blocking_server
from tests.e2e.server_process import ROOT, environment


def test_piped_text_becomes_a_file(tiny_bundle: Path, tmp_path: Path) -> None:
    """Text from a pipe is spoken into the WAV file, and the first audio and the gaps are told."""
    command = [sys.executable, str(ROOT / "clients" / "mic_demo.py"), "--wav", str(tmp_path / "talk.wav")]
    with blocking_server(tiny_bundle) as target:
        talk = subprocess.run(
            [*command, "--server", target],
            input="Hello there. How are you?",
            env=environment(tiny_bundle),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )

    assert 1 == talk.stderr.count("First audio after")
    assert "s of speech; gaps so far:" in talk.stderr
    with wave.open(str(tmp_path / "talk.wav")) as file:
        assert (24000, True) == (file.getframerate(), file.getnframes() > 2400)


def test_a_missing_server_is_a_sentence(tiny_bundle: Path) -> None:
    """Without a server the demo says how to start one."""
    command = [sys.executable, str(ROOT / "clients" / "mic_demo.py"), "--wav", "never.wav", "--server", "127.0.0.1:1"]
    talk = subprocess.run(
        command, input="Hello.", env=environment(tiny_bundle), capture_output=True, text=True, timeout=60, check=False
    )

    assert 1 == talk.returncode
    assert "Start one with `antiphon serve`." in talk.stderr
    assert "Traceback" not in talk.stderr


def test_a_file_counts_gaps_as_a_listener_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Audio that comes later than the audio before it lasts is a gap; after `end` it is not."""
    now_s = 100.0
    monkeypatch.setattr(mic_demo.time, "perf_counter", lambda: now_s)
    sink = mic_demo.WavSink(tmp_path / "a.wav", 1000)
    sink.write(bytes(2000))
    now_s += 1.5
    sink.write(bytes(2000))
    unheard_s = sink.clear()
    now_s += 5.0
    sink.write(bytes(2000))
    sink.end()
    now_s += 5.0
    sink.write(bytes(2000))
    sink.close()

    assert (1, 0.5, 1.0) == (sink.gap_count, sink.gap_s, unheard_s)
