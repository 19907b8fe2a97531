"""Making and deleting voices with the Python client, against a real server on a bundle that clones."""

import dataclasses
import wave
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from antiphon_client.aio import AsyncClient
from antiphon_client.errors import (
    RequestError,
    ServerUnavailableError,
    UnsupportedError,
    VoiceExistsError,
    VoiceFixedError,
    VoiceNotFoundError,
)
from antiphon_client.new_voice import Consent, NewVoice
from antiphon_client.options import Encoding, SpeechOptions
from antiphon_client.sync import Client
from tests.clients.blocking_server import blocking_server
from tests.server.fish_speech.recorded_bundle import (
    RECORDED,
    recorded_array,
    recorded_checkpoint,
    write_recorded_bundle,
)

CONSENT = Consent("Anna", "I agree.", datetime(2026, 5, 1, 9, 30, tzinfo=UTC))
ANNA = NewVoice("anna", RECORDED["reference_text"], CONSENT, "en", "Anna", "A test.", sample_rate_hz=44_100)
RECORDING = recorded_array("reference_wav_int16").astype("<i2").tobytes()


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that makes voices."""
    directory = tmp_path_factory.mktemp("cloning")
    write_recorded_bundle(directory / "bundle", recorded_checkpoint())
    with blocking_server(directory / "bundle", engine__voices_dir=directory / "voices") as target:
        yield target


async def test_a_voice_is_made_speaks_and_is_deleted(target: str) -> None:
    """Headerless bytes become a voice that is listed with what was said about it, and that speaks."""
    async with AsyncClient(target) as client:
        made = await client.create_voice(ANNA, RECORDING)
        assert ("anna", "A test.", ("en",), True, False) == (
            made.name, made.description, made.languages, made.is_custom, made.is_default,
        )  # fmt: skip
        assert ["anna", "recorded"] == [voice.name for voice in await client.voices()]
        chunks = [chunk async for chunk in client.speak("Hello.", SpeechOptions(voice="anna", seed=3))]
        assert sum(len(chunk.audio) for chunk in chunks) > 0
        await client.delete_voice("anna")
        assert [False] == [voice.is_custom for voice in await client.voices()]


async def test_a_file_is_sent_whole(target: str, tmp_path: Path) -> None:
    """A path, as text or not, gives the voice that its bytes give; one that is not there is an OSError."""
    with wave.open(str(tmp_path / "anna.wav"), "wb") as file:
        file.setparams((1, 2, 44_100, 0, "NONE", ""))
        file.writeframes(RECORDING)
    sounds = []
    async with AsyncClient(target) as client:
        for recording in (tmp_path / "anna.wav", str(tmp_path / "anna.wav"), RECORDING):
            await client.create_voice(ANNA, recording)
            speech = client.speak("Hello.", SpeechOptions(voice="anna", seed=3))
            sounds.append(b"".join([chunk.audio async for chunk in speech]))
            await client.delete_voice("anna")
        with pytest.raises(FileNotFoundError):
            await client.create_voice(ANNA, tmp_path / "nothing.wav")
    assert 1 == len(set(sounds))


async def test_refusals_have_their_own_classes(target: str, tiny_bundle: Path) -> None:
    """Names that are taken, fixed or unknown, recordings that will not do, and servers that make no voices."""
    tomorrow = dataclasses.replace(CONSENT, given_at=datetime.now(UTC) + timedelta(days=1))
    async with AsyncClient(target) as client:
        with pytest.raises(VoiceExistsError) as taken:
            await client.create_voice(dataclasses.replace(ANNA, name="recorded"), RECORDING)
        assert "VOICE_EXISTS" == taken.value.reason
        with pytest.raises(VoiceFixedError):
            await client.delete_voice("recorded")
        with pytest.raises(VoiceNotFoundError):
            await client.delete_voice("nobody")
        for voice, recording, field in (
            (ANNA, bytes(len(RECORDING)), "audio"),
            (ANNA, b"", "audio"),
            (dataclasses.replace(ANNA, consent=tomorrow), RECORDING, "config.consent.consent_time"),
            (dataclasses.replace(ANNA, encoding=Encoding.MULAW), RECORDING, "audio"),
        ):
            with pytest.raises(RequestError) as refused:
                await client.create_voice(voice, recording)
            assert [field] == list(refused.value.fields)
            assert refused.value.request_id
    with blocking_server(tiny_bundle) as fixed:
        async with AsyncClient(fixed) as client:
            with pytest.raises(UnsupportedError):
                await client.create_voice(ANNA, RECORDING)
            with pytest.raises(UnsupportedError):
                await client.delete_voice("anna")
    async with AsyncClient("127.0.0.1:1") as client:
        with pytest.raises(ServerUnavailableError):
            await client.create_voice(ANNA, RECORDING, timeout_s=5.0)


def test_the_blocking_client_makes_voices_too(target: str) -> None:
    """The same two calls without an event loop."""
    with Client(target) as client:
        assert "bob" == client.create_voice(dataclasses.replace(ANNA, name="bob"), RECORDING).name
        client.delete_voice("bob")
        with pytest.raises(VoiceNotFoundError):
            client.delete_voice("bob")


def test_everything_said_about_a_voice_is_sent() -> None:
    """Every field reaches the message; a time without a zone is local."""
    given = datetime(2026, 5, 1, 9, 30, 0, 250_000)  # noqa: DTZ001 - the point of it
    message = dataclasses.replace(ANNA, consent=dataclasses.replace(CONSENT, given_at=given)).to_proto()
    assert ("anna", "en", "Anna", "A test.") == (
        message.name, message.language, message.display_name, message.description,
    )  # fmt: skip
    assert (ANNA.transcript, 44_100) == (message.transcript, message.audio_format.sample_rate_hz)
    assert ("Anna", "I agree.") == (message.consent.speaker_name, message.consent.statement)
    assert round(given.timestamp() * 1000) == message.consent.consent_time.ToMilliseconds()
