"""Voices made of recordings: checked, encoded once, kept whole or not at all, found again after a restart."""

import asyncio
import dataclasses
import errno
import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from server.errors import (
    AntiphonError,
    InvalidRequestError,
    StorageFailedError,
    StorageFullError,
    VoiceExistsError,
    VoiceFixedError,
    VoiceNotFoundError,
)
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
        self.has_begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        self._busy = threading.Lock()

    def encode(self, samples: NDArray[np.float32]) -> NDArray[Any]:
        """Return frames of two codes."""
        assert self._busy.acquire(blocking=False)
        try:
            self.calls += 1
            self.has_begun.set()
            time.sleep(0.02)
            self.may_end.wait()
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


async def test_a_caller_who_gives_up_gets_no_voice(maker: VoiceMaker, encoder: CountingEncoder, tmp_path: Path) -> None:
    """While the thread that cannot be stopped encodes, nobody encodes beside it; then nothing is left of the voice."""
    encoder.may_end.clear()
    making = asyncio.create_task(maker.make(WISH, RECORDING))
    await asyncio.to_thread(encoder.has_begun.wait)
    waiting = asyncio.create_task(maker.make(dataclasses.replace(WISH, name="bob"), RECORDING))
    making.cancel()
    for _ in range(10):  # turns of the loop in which the cancel arrives
        await asyncio.sleep(0)
    encoder.may_end.set()
    await waiting
    with pytest.raises(asyncio.CancelledError):
        await making
    assert [path.name for path in _files(tmp_path)] == ["bob"]
    await maker.make(WISH, RECORDING)
    assert encoder.calls == 3


async def test_a_caller_who_gives_up_while_it_waits_frees_the_name(maker: VoiceMaker, encoder: CountingEncoder) -> None:
    """The name can be asked for again at once, and the recording is never encoded."""
    encoder.may_end.clear()
    making = asyncio.create_task(maker.make(WISH, RECORDING))
    await asyncio.to_thread(encoder.has_begun.wait)
    bob = dataclasses.replace(WISH, name="bob")
    waiting = asyncio.create_task(maker.make(bob, RECORDING))
    await asyncio.sleep(0)
    with pytest.raises(VoiceExistsError):
        maker.check(bob)
    waiting.cancel()
    await asyncio.wait([waiting])
    maker.check(bob)
    encoder.may_end.set()
    await making
    assert encoder.calls == 1


@pytest.mark.parametrize(
    ("number", "kind", "sentence"),
    [
        (errno.ENOSPC, StorageFullError, "'anna' cannot be kept: there is no room for it on the server"),
        (errno.EDQUOT, StorageFullError, "'anna' cannot be kept: there is no room for it on the server"),
        (errno.EROFS, StorageFailedError, "'anna' cannot be kept: Read-only file system"),
        (errno.EACCES, StorageFailedError, "'anna' cannot be kept: Permission denied"),
    ],
)
async def test_a_voice_that_cannot_be_written_leaves_nothing(
    maker: VoiceMaker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    kind: type[AntiphonError],
    sentence: str,
) -> None:
    """A full or write-protected disk is told from a bug; half a voice is never left, and the name stays free."""

    def fail(path: Path, content: bytes) -> int:
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        with pytest.raises(kind, match=sentence):
            await maker.make(WISH, RECORDING)
    assert _files(tmp_path) == []
    await maker.make(WISH, RECORDING)


async def test_a_directory_that_is_gone_is_an_error_of_the_server(maker: VoiceMaker, tmp_path: Path) -> None:
    """Somebody removed the place where voices are kept."""
    await asyncio.to_thread(tmp_path.rmdir)
    with pytest.raises(StorageFailedError, match="No such file or directory"):
        await maker.make(WISH, RECORDING)


async def test_a_name_that_another_process_took_is_taken(maker: VoiceMaker, tmp_path: Path) -> None:
    """A directory that this server does not know is left alone."""
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna/voice.json").write_text("theirs")
    with pytest.raises(VoiceExistsError):
        await maker.make(WISH, RECORDING)
    assert (tmp_path / "anna/voice.json").read_text() == "theirs"


async def test_a_voice_that_cannot_be_deleted_goes_on_speaking(
    maker: VoiceMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays listed until its files are gone; files that somebody else removed are as good as deleted."""
    await maker.make(WISH, RECORDING)

    def fail(path: Path, target: Path) -> Path:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fail)
        with pytest.raises(StorageFailedError, match="'anna' cannot be deleted: Read-only file system"):
            await maker.delete("anna")
    with pytest.raises(VoiceExistsError):
        maker.check(WISH)
    shutil.rmtree(tmp_path / "anna")
    await maker.delete("anna")
    maker.check(WISH)


async def test_a_voice_is_deleted_once(maker: VoiceMaker) -> None:
    """Of several calls at once one deletes it, the others find nothing."""
    await maker.make(WISH, RECORDING)
    results = await asyncio.gather(*(maker.delete("anna") for _ in range(4)), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["NoneType", *["VoiceNotFoundError"] * 3]
