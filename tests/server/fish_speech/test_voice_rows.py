"""The cache of voices: read once, anew when replaced, kept when deleted, bounded in bytes."""

import os
from pathlib import Path

import numpy as np
import pytest

from server.fish_speech.prompt import PromptBuilder, Reference
from server.fish_speech.tokenizer import load_tokenizer
from server.fish_speech.voice_prompt import write_references
from server.fish_speech.voice_rows import VoiceRows

TOKENIZER = load_tokenizer(Path(__file__).parents[2] / "data/fish_speech_1_5/tokenizer/tokenizer.tiktoken")


@pytest.fixture
def builder() -> PromptBuilder:
    """Makes prompts of two codebooks."""
    return PromptBuilder(TOKENIZER, 2)


def _write(path: Path, frame_count: int, second: int) -> None:
    write_references(path, [Reference("Hello.", np.zeros((frame_count, 2), np.int32))])
    os.utime(path, (second, second))


def test_a_voice_is_read_again_only_when_its_file_was_replaced(builder: PromptBuilder, tmp_path: Path) -> None:
    """The same array comes back until the file changes."""
    voices = VoiceRows(builder, lambda name: tmp_path / name)
    _write(tmp_path / "anna", 3, 1)
    first = voices.of("anna")
    assert voices.of("anna") is first
    _write(tmp_path / "anna", 5, 2)
    assert len(voices.of("anna")) == len(first) + 2


def test_a_deleted_voice_keeps_speaking(builder: PromptBuilder, tmp_path: Path) -> None:
    """What was cached outlives its file; a voice never seen has the system message alone."""
    voices = VoiceRows(builder, lambda name: tmp_path / name)
    _write(tmp_path / "anna", 3, 1)
    rows = voices.of("anna")
    (tmp_path / "anna").unlink()
    assert voices.of("anna") is rows
    np.testing.assert_array_equal(voices.of("bob"), builder.system())


def test_the_cache_is_bounded_in_bytes(builder: PromptBuilder, tmp_path: Path) -> None:
    """The voice used longest ago goes first; the one in use stays whatever its size."""
    for name in ("anna", "bob", "carl"):
        _write(tmp_path / name, 100, 1)
    size = len(VoiceRows(builder, lambda name: tmp_path / name).of("anna")) * 3 * 4
    voices = VoiceRows(builder, lambda name: tmp_path / name, largest_bytes=2 * size)
    anna, bob = voices.of("anna"), voices.of("bob")
    assert voices.of("anna") is anna
    voices.of("carl")
    assert voices.of("anna") is anna
    assert voices.of("bob") is not bob
