"""Voices made of recordings: checked, encoded once, kept whole or not at all, found again after a restart."""

import asyncio
import dataclasses
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from server.errors import AntiphonError, InvalidRequestError, VoiceExistsError, VoiceFixedError, VoiceNotFoundError
from server.fish_speech.voice_prompt import read_references
from server.voice_maker import VoiceMaker, VoiceWish
from server.voice_store import Consent, VoiceStore
from trt_engines.manifest import ReferenceSpec

SPEC = ReferenceSpec("graphs/encode.onnx", 8000, 1.0, 4.0, needs_transcript=True)
CONSENT = Consent("Anna", "I agree.", 1_700_000_000.0)
WISH = VoiceWish("anna", "Hello there.", "en-US", CONSENT, "Anna", "A test.")
RECORDING = np.rint(9000 * np.sin(np.arange(16_000) / 5)).astype("<i2").tobytes()


class CountingEncoder:
    """Gives one frame a second and counts what it was asked, one call at a time."""

    def __init__(self) -> None:
        self.calls = 0
        self._busy = threading.Lock()

    def encode(self, samples: NDArray[np.float32]) -> NDArray[Any]:
        """Return frames of two codes."""
        assert self._busy.acquire(blocking=False)
        try:
            self.calls += 1
            time.sleep(0.02)
            return np.full((len(samples) // 8000, 2), self.calls, np.int32)
        finally:
            self._busy.release()


def _files(directory: Path) -> list[Path]:
    return list(directory.iterdir())


@pytest.fixture
def encoder() -> CountingEncoder:
    """An encoder."""
    return CountingEncoder()


@pytest.fixture
def maker(encoder: CountingEncoder, tmp_path: Path) -> VoiceMaker:
    """A maker beside a bundle with one voice, `default`."""
    return VoiceMaker(encoder, SPEC, VoiceStore(tmp_path, 44_100), lambda name: name == "default")


async def test_a_voice_survives_a_restart(maker: VoiceMaker, tmp_path: Path) -> None:
    """Description, consent, transcript and frames are found again by a store opened anew."""
    made = await maker.make(WISH, RECORDING)
    (again,) = VoiceStore(tmp_path, 44_100).voices
    assert again == made
    assert (again.consent, again.language_codes, again.display_name) == (CONSENT, ("en-US",), "Anna")
    (voice,) = VoiceStore(tmp_path, 44_100).spoken()
    assert (voice.name, voice.sample_rate_hz, voice.created_s) == ("anna", 44_100, made.created_s)
    (reference,) = read_references(tmp_path / "anna/references.safetensors", 2)
    assert (reference.text, reference.codes.tolist()) == ("Hello there.", [[1, 1], [1, 1]])


async def test_a_name_is_made_once(maker: VoiceMaker, encoder: CountingEncoder) -> None:
    """Of several calls at once for one name one makes it; other names wait for their turn."""
    wishes = [WISH, WISH, dataclasses.replace(WISH, name="bob"), WISH]
    results = await asyncio.gather(*(maker.make(wish, RECORDING) for wish in wishes), return_exceptions=True)
    assert sum(isinstance(result, VoiceExistsError) for result in results) == 2
    assert encoder.calls == 2
    for name in ("anna", "default"):
        with pytest.raises(VoiceExistsError, match=f"There is a voice named '{name}' already"):
            await maker.make(dataclasses.replace(WISH, name=name), RECORDING)


async def test_a_deleted_voice_is_gone(maker: VoiceMaker, tmp_path: Path) -> None:
    """Its directory goes with it, and its name is free again; others cannot be deleted."""
    await maker.make(WISH, RECORDING)
    await maker.delete("anna")
    assert _files(tmp_path) == []
    with pytest.raises(VoiceNotFoundError, match="no custom voice named 'anna'"):
        await maker.delete("anna")
    with pytest.raises(VoiceFixedError, match="'default' came with the server"):
        await maker.delete("default")
    await maker.make(WISH, RECORDING)


async def test_a_recording_that_cannot_become_a_voice_leaves_nothing(maker: VoiceMaker, tmp_path: Path) -> None:
    """After a refusal the name can be used, and no file is left."""
    with pytest.raises(InvalidRequestError, match="is silent"):
        await maker.make(WISH, bytes(len(RECORDING)))
    assert _files(tmp_path) == []
    await maker.make(WISH, RECORDING)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"name": "Anna"}, "config.name"),
        ({"name": "../x"}, "config.name"),
        ({"name": "a" * 65}, "config.name"),
        ({"language": "english please"}, "config.language"),
        ({"transcript": " ...!"}, "config.transcript"),
        ({"transcript": "x" * 1001}, "config.transcript"),
        ({"display_name": "x" * 129}, "config.display_name"),
        ({"consent": None}, "config.consent"),
        ({"consent": dataclasses.replace(CONSENT, speaker_name=" ")}, "config.consent.speaker_name"),
        ({"consent": dataclasses.replace(CONSENT, statement="x" * 1001)}, "config.consent.statement"),
        ({"consent": dataclasses.replace(CONSENT, given_s=0.0)}, "config.consent.consent_time"),
        ({"consent": dataclasses.replace(CONSENT, given_s=1e11)}, "config.consent.consent_time"),
    ],
)
def test_a_wrong_field_is_named(maker: VoiceMaker, values: dict[str, Any], field: str) -> None:
    """Before a recording is read, what is said about it is checked."""
    with pytest.raises(InvalidRequestError) as caught:
        maker.check(dataclasses.replace(WISH, **values))
    assert caught.value.field == field


async def test_broken_voices_do_not_keep_the_others_from_speaking(maker: VoiceMaker, tmp_path: Path) -> None:
    """Records that cannot be read are left alone, and what a crash left behind is removed."""
    await maker.make(WISH, RECORDING)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn/voice.json").write_text("{")
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved/voice.json").write_text((tmp_path / "anna/voice.json").read_text())
    (tmp_path / "note.txt").write_text("")
    (tmp_path / ".new-1").mkdir()
    store = VoiceStore(tmp_path, 44_100)
    assert [voice.name for voice in store.voices] == ["anna"]
    assert not (tmp_path / ".new-1").exists()
    with pytest.raises(AntiphonError):
        store.add(store.voices[0], [])
    assert json.loads((tmp_path / "anna/voice.json").read_text())["name"] == "anna"
