"""The messages of `CreateVoice` to what the voice maker works with: a config first, then the recording in parts."""

from collections.abc import AsyncIterator

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1 import voice_pb2
from server.errors import AntiphonError, InvalidConfigError, OutOfOrderError, OutOfRangeError
from server.requests import audio_format
from server.voice_maker import VoiceMaker, VoiceWish
from server.voice_store import Consent

_PART_BYTES = 1 << 20


async def read_recording(
    requests: AsyncIterator[messages.CreateVoiceRequest], maker: VoiceMaker, default_language: str
) -> tuple[VoiceWish, bytes]:
    """Read all messages of a call.

    Raises:
        OutOfOrderError: The config is missing, late or doubled.
        OutOfRangeError: A part, or all of them together, are too large.
        InvalidConfigError, VoiceExistsError: The config cannot become a voice.
    """
    try:
        return await _read(requests, maker, default_language)
    except AntiphonError:
        # A client that is cut off while it sends never sees why; so the rest is taken and dropped, within reason.
        dropped_bytes = 0
        async for request in requests:
            dropped_bytes += len(request.audio)
            if dropped_bytes > maker.max_bytes:
                break
        raise


async def _read(
    requests: AsyncIterator[messages.CreateVoiceRequest], maker: VoiceMaker, default_language: str
) -> tuple[VoiceWish, bytes]:
    wish: VoiceWish | None = None
    parts = bytearray()
    async for request in requests:
        kind = request.WhichOneof("message")
        if kind is None:
            raise InvalidConfigError("A message of CreateVoice is empty; send `config` first, then `audio`.", "message")
        if (kind == "config") != (wish is None):
            raise OutOfOrderError("CreateVoice takes one `config`, as the first message, and then `audio`.", kind)
        if wish is None:
            wish = _wish(request.config, default_language)
            maker.check(wish)
            continue
        parts += request.audio
        if len(request.audio) > _PART_BYTES or len(parts) > maker.max_bytes:
            raise OutOfRangeError(
                f"The recording came in a part of {len(request.audio)} bytes and has {len(parts)} so far; a part may "
                f"have {_PART_BYTES} and a recording {maker.max_bytes}.",
                "audio",
            )
    if wish is None:
        raise OutOfOrderError("CreateVoice ended without a message; send `config` first, then `audio`.", "config")
    return wish, bytes(parts)


def _wish(config: voice_pb2.VoiceConfig, default_language: str) -> VoiceWish:
    consent = config.consent
    given = Consent(consent.speaker_name, consent.statement, consent.consent_time.ToNanoseconds() / 1e9)
    return VoiceWish(
        name=config.name,
        transcript=config.transcript,
        language=config.language or default_language,
        consent=given if config.HasField("consent") else None,
        display_name=config.display_name,
        description=config.description,
        audio=audio_format(config.audio_format),
    )
