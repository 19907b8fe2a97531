"""The messages of `CreateVoice`: patience with those who send slowly has an end, and odd values are refused."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.protobuf import timestamp_pb2

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1 import voice_pb2
from server.errors import IdleTimeoutError, InvalidConfigError
from server.voice_maker import VoiceMaker, VoiceWish
from server.voice_requests import read_recording
from server.voice_store import VoiceStore
from tests.server.test_voice_maker import SPEC, CountingEncoder

AUDIO = messages.CreateVoiceRequest(audio=b"some")


def _config(seconds: int = 1_700_000_000, nanos: int = 0) -> messages.CreateVoiceRequest:
    given = timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)
    consent = voice_pb2.Consent(speaker_name="Anna", statement="I agree.", consent_time=given)
    return messages.CreateVoiceRequest(
        config=voice_pb2.VoiceConfig(name="anna", transcript="Hello.", consent=consent, language="en")
    )


@pytest.fixture
def maker(tmp_path: Path) -> VoiceMaker:
    """A maker without voices."""
    return VoiceMaker(CountingEncoder(), SPEC, VoiceStore(tmp_path, 44_100), lambda name: False)


async def _read(maker: VoiceMaker, *requests: messages.CreateVoiceRequest, silent: bool = False) -> VoiceWish:
    async def send() -> AsyncIterator[messages.CreateVoiceRequest]:
        for request in requests:
            yield request
        if silent:
            await asyncio.Event().wait()

    with maker.recordings.begin() as recording:
        return await read_recording(send(), maker, recording, "en", patience_s=0.05 if silent else 60.0)


async def test_a_client_that_falls_silent_is_given_up(maker: VoiceMaker) -> None:
    """Before its config or in the middle of its recording: the memory it holds is wanted by others."""
    for sent in ([], [_config()], [_config(), AUDIO]):
        with pytest.raises(IdleTimeoutError, match=r"Nothing came for 0\.05 s, so the voice was not made"):
            await _read(maker, *sent, silent=True)


@pytest.mark.parametrize(("seconds", "nanos"), [(2**62, 0), (-(2**62), 0), (0, 0), (-1, 0), (253_402_300_800, 0)])
async def test_times_that_cannot_be_are_refused(maker: VoiceMaker, seconds: int, nanos: int) -> None:
    """Whatever stands in a timestamp is compared, not converted."""
    with pytest.raises(InvalidConfigError) as refused:
        await _read(maker, _config(seconds, nanos))
    assert refused.value.field == "config.consent.consent_time"


async def test_a_time_of_a_second_ago_is_taken(maker: VoiceMaker) -> None:
    """Fractions count, whatever their sign."""
    wish = await _read(maker, _config(nanos=500_000_000), AUDIO)
    assert wish.consent is not None
    assert wish.consent.given_s == 1_700_000_000.5
