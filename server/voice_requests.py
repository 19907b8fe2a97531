"""The messages of `CreateVoice` to what the voice maker works with: a config first, then the recording in parts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1 import voice_pb2
from server.errors import AntiphonError, IdleTimeoutError, InvalidConfigError, OutOfOrderError
from server.recordings import Recording
from server.requests import audio_format
from server.voice_maker import VoiceMaker, VoiceWish
from server.voice_store import Consent

Requests = AsyncIterator[messages.CreateVoiceRequest]

_PATIENCE_S = 60.0
_DROP_S = 30.0


async def read_recording(
    requests: Requests, maker: VoiceMaker, recording: Recording, default_language: str, patience_s: float = _PATIENCE_S
) -> VoiceWish:
    """Read all messages of a call; the bytes go into the recording.

    Raises:
        OutOfOrderError: The config is missing, late or doubled.
        OutOfRangeError: A part, or all of them together, are too large.
        InvalidConfigError, VoiceExistsError: The config cannot become a voice.
        ServerFullError: Other recordings take the memory.
        IdleTimeoutError: Nothing came for `patience_s`.
    """
    try:
        return await _read(_patiently(requests, patience_s), maker, recording, default_language)
    except AntiphonError:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(patience_s, _DROP_S)):
                await _drop(requests, maker.recordings.max_bytes)
        raise


async def _drop(requests: Requests, max_bytes: int) -> None:
    """Take what is still sent, within reason: a client that is cut off while it sends never sees why."""
    dropped_bytes = 0
    async for request in requests:
        dropped_bytes += len(request.audio)
        if dropped_bytes > max_bytes:
            return


async def _patiently(requests: Requests, patience_s: float) -> Requests:
    while True:
        try:
            async with asyncio.timeout(patience_s):
                request = await anext(requests)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise IdleTimeoutError(
                f"Nothing came for {patience_s:g} s, so the voice was not made; send the recording without pauses, and "
                "close the stream behind it."
            ) from error
        yield request


async def _read(requests: Requests, maker: VoiceMaker, recording: Recording, default_language: str) -> VoiceWish:
    wish: VoiceWish | None = None
    async for request in requests:
        kind = request.WhichOneof("message")
        if kind is None:
            raise InvalidConfigError("A message of CreateVoice is empty; send `config` first, then `audio`.", "message")
        if (kind == "config") != (wish is None):
            raise OutOfOrderError("CreateVoice takes one `config`, as the first message, and then `audio`.", kind)
        if wish is None:
            wish = _wish(request.config, default_language)
            maker.check(wish)
        else:
            recording.add(request.audio)
    if wish is None:
        raise OutOfOrderError("CreateVoice ended without a message; send `config` first, then `audio`.", "config")
    return wish


def _wish(config: voice_pb2.VoiceConfig, default_language: str) -> VoiceWish:
    consent = config.consent
    given_s = consent.consent_time.seconds + consent.consent_time.nanos / 1e9
    given = Consent(consent.speaker_name, consent.statement, given_s)
    return VoiceWish(
        name=config.name,
        transcript=config.transcript,
        language=config.language or default_language,
        consent=given if config.HasField("consent") else None,
        display_name=config.display_name,
        description=config.description,
        audio=audio_format(config.audio_format),
    )
