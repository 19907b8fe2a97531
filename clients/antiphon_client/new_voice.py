"""What makes a voice: a recording of somebody speaking, the words spoken in it, and that person's consent."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from google.protobuf import timestamp_pb2

from antiphon.v1 import audio_pb2, voice_pb2
from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon_client.options import Encoding

_PART_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Consent:
    """Permission of the person who is heard; the server keeps it with the voice."""

    speaker_name: str
    statement: str
    """The permission in that person's own words."""
    given_at: datetime
    """A time without a zone is local."""


@dataclass(frozen=True, slots=True)
class NewVoice:
    """A voice that is to be made; see `VoiceConfig` in the contract for limits and defaults."""

    name: str
    """1 to 64 of a-z, 0-9, '-' and '_', beginning with a letter or a digit."""
    transcript: str
    """The words spoken in the recording, exactly."""
    consent: Consent
    language: str = ""
    """Language of the recording as a BCP 47 tag; empty is that of the server's default voice."""
    display_name: str = ""
    description: str = ""
    encoding: Encoding = Encoding.PCM_S16LE
    """How samples without a file header are written; a WAV, FLAC, Ogg or MP3 file says it itself."""
    sample_rate_hz: int = 0
    """Of samples without a file header; 0 is the rate of the server's default voice."""

    def to_proto(self) -> voice_pb2.VoiceConfig:
        """The message of the contract."""
        given = timestamp_pb2.Timestamp()
        given.FromNanoseconds(round(self.consent.given_at.timestamp() * 1_000_000) * 1000)
        return voice_pb2.VoiceConfig(
            name=self.name,
            display_name=self.display_name,
            description=self.description,
            language=self.language,
            audio_format=audio_pb2.AudioFormat(encoding=self.encoding.value, sample_rate_hz=self.sample_rate_hz),
            transcript=self.transcript,
            consent=voice_pb2.Consent(
                speaker_name=self.consent.speaker_name, statement=self.consent.statement, consent_time=given
            ),
        )


async def creation(voice: NewVoice, recording: bytes) -> AsyncIterator[messages.CreateVoiceRequest]:
    """Yields the messages of a call that makes a voice."""
    yield messages.CreateVoiceRequest(config=voice.to_proto())
    for start in range(0, len(recording), _PART_BYTES):
        yield messages.CreateVoiceRequest(audio=recording[start : start + _PART_BYTES])
