"""Makes voices of recordings: checks what was sent, encodes it once, keeps it, and lets it speak."""

import asyncio
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from server.errors import InvalidConfigError, VoiceFixedError
from server.fish_speech.prompt import Reference
from server.fish_speech.text import is_speakable
from server.recording_file import RATE_RANGE_HZ
from server.recordings import Recordings
from server.reference_audio import ReferenceLimits, reference_samples
from server.utterance import AudioFormat
from server.voice_store import Consent, CustomVoice, VoiceStore, taken
from trt_engines.base import ReferenceEncoder
from trt_engines.manifest import ReferenceSpec

VOICE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_TRANSCRIPT_CHARS = 1000
_STATEMENT_CHARS = 1000
_NAME_CHARS = 128
_DESCRIPTION_CHARS = 1000
_CLOCK_SLACK_S = 300.0
_HEADER_BYTES = 1 << 20
_RECORDING_COUNT = 3
"""So many recordings of the largest size may be held at once, and many more of the usual size."""


@dataclass(frozen=True, slots=True)
class VoiceWish:
    """What a caller says about a voice before the recording comes; empty texts were not given."""

    name: str
    transcript: str
    language: str
    consent: Consent | None
    display_name: str = ""
    description: str = ""
    audio: AudioFormat = field(default_factory=AudioFormat)


class VoiceMaker:
    """Makes and deletes custom voices. Lives on the event loop; encoding runs on a thread, one recording at a time.

    Args:
        encoder: Of the bundle.
        spec: What it takes.
        store: Where voices are kept.
        is_taken: Whether a voice of the bundle has a name.

    Attributes:
        recordings: Those that arrive or wait to be encoded.
    """

    def __init__(
        self,
        encoder: ReferenceEncoder,
        spec: ReferenceSpec,
        store: VoiceStore,
        is_taken: Callable[[str], bool],
    ) -> None:
        self._encoder = encoder
        self._limits = ReferenceLimits(spec.sample_rate_hz, spec.min_s, spec.max_s)
        self._needs_transcript = spec.needs_transcript
        self._store = store
        self._is_taken = is_taken
        # More bytes than two channels of floats at the highest rate are no recording of an allowed length.
        largest_bytes = int(spec.max_s * RATE_RANGE_HZ[1] * 2 * 4) + _HEADER_BYTES
        self.recordings = Recordings(largest_bytes, _RECORDING_COUNT * largest_bytes)
        self._one_at_a_time = asyncio.Semaphore(1)
        self._in_making: set[str] = set()

    def check(self, wish: VoiceWish) -> None:
        """Refuse a wish before its recording is sent.

        Raises:
            InvalidConfigError: A field is missing or wrong; names it.
            VoiceExistsError: The name is taken, or is being made.
        """
        _check_fields(wish)
        if self._needs_transcript and not is_speakable(wish.transcript):
            raise InvalidConfigError(
                "This voice needs a transcript: the words spoken in the recording, exactly.", "config.transcript"
            )
        if self._is_taken(wish.name) or self._store.find(wish.name) or wish.name in self._in_making:
            raise taken(wish.name)

    async def make(self, wish: VoiceWish, content: bytes) -> CustomVoice:
        """Make a voice of a recording, and return it when it can speak. Whoever cancels this gets no voice.

        Raises:
            InvalidRequestError: As `check`, or the recording cannot become a voice; says why.
            VoiceExistsError: As `check`.
            StorageFullError, StorageFailedError: The voice cannot be kept.
        """
        self.check(wish)
        self._in_making.add(wish.name)
        try:
            async with self._one_at_a_time:
                return await self._encoded(wish, content)
        finally:
            self._in_making.discard(wish.name)

    async def delete(self, name: str) -> None:
        """Delete a custom voice; what it is speaking is spoken to its end.

        Raises:
            VoiceNotFoundError: No voice has this name.
            VoiceFixedError: The voice came with the bundle.
            StorageFailedError: Its files cannot be deleted.
        """
        if self._is_taken(name):
            raise VoiceFixedError(f"Voice {name!r} came with the server and cannot be deleted.")
        await asyncio.to_thread(self._store.remove, name)

    async def _encoded(self, wish: VoiceWish, content: bytes) -> CustomVoice:
        """Encode on a thread. It cannot be stopped, so whoever is cancelled still waits: nobody encodes beside it."""
        is_given_up = threading.Event()
        work = asyncio.ensure_future(asyncio.to_thread(self._make, wish, content, is_given_up))
        try:
            voice = await asyncio.shield(work)
        except asyncio.CancelledError:
            is_given_up.set()
            await asyncio.gather(work, return_exceptions=True)
            raise
        assert voice is not None  # nobody gave up
        return voice

    def _make(self, wish: VoiceWish, content: bytes, is_given_up: threading.Event) -> CustomVoice | None:
        assert wish.consent is not None  # checked
        frames = self._encoder.encode(reference_samples(content, wish.audio, self._limits))
        if is_given_up.is_set():
            return None
        voice = CustomVoice(
            wish.name,
            wish.display_name,
            wish.description,
            (wish.language,),
            "neutral",
            wish.consent,
            time.time(),
        )
        self._store.add(voice, [Reference(wish.transcript, frames)])
        return voice


def _check_fields(wish: VoiceWish) -> None:
    if not VOICE_NAME.fullmatch(wish.name):
        raise InvalidConfigError(
            f"{wish.name[:64]!r} cannot be the name of a voice; use 1 to 64 of a-z, 0-9, '-' and '_', beginning with a "
            "letter or a digit.",
            "config.name",
        )
    if not _LANGUAGE.fullmatch(wish.language):
        raise InvalidConfigError(f"{wish.language[:40]!r} is no BCP 47 tag such as 'en-US'.", "config.language")
    for key, text, limit in (
        ("transcript", wish.transcript, _TRANSCRIPT_CHARS),
        ("display_name", wish.display_name, _NAME_CHARS),
        ("description", wish.description, _DESCRIPTION_CHARS),
    ):
        if len(text) > limit:
            raise InvalidConfigError(f"{key} has {len(text)} characters; at most {limit} are kept.", f"config.{key}")
    _check_consent(wish.consent)


def _check_consent(consent: Consent | None) -> None:
    if consent is None:
        raise InvalidConfigError(
            "A voice needs the consent of the person who is heard; send who gave it, in what words and when.",
            "config.consent",
        )
    for key, text, limit in (
        ("speaker_name", consent.speaker_name, _NAME_CHARS),
        ("statement", consent.statement, _STATEMENT_CHARS),
    ):
        if not 1 <= len(text.strip()) <= limit:
            raise InvalidConfigError(
                f"consent.{key} has {len(text.strip())} characters; 1 to {limit} are needed.",
                f"config.consent.{key}",
            )
    if not 0.0 < consent.given_s <= time.time() + _CLOCK_SLACK_S:
        raise InvalidConfigError(
            "consent.consent_time must say when consent was given, not be in the future.",
            "config.consent.consent_time",
        )
