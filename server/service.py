"""The gRPC service: translates between the contract and the server, and knows nothing else."""

# ruff: noqa: N802 - the contract names the methods

import asyncio
import dataclasses
import math
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, TypeAlias

import structlog
from grpc import aio

from antiphon.v1 import synthesis_pb2, voice_pb2
from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1.text_to_speech_service_pb2_grpc import TextToSpeechServiceServicer
from server.config import AdmissionSettings
from server.conversation import Conversation
from server.errors import DrainingError, FeatureUnavailableError, InvalidConfigError, OutOfRangeError
from server.requests import StreamConfig, stream_config
from server.responses import voice_message
from server.synthesizer import Synthesizer
from server.voice import Voice
from server.voices import VoiceCatalogue
from trt_engines.manifest import Manifest

if TYPE_CHECKING:  # it needs what a server without cloning need not have
    from server.voice_maker import VoiceMaker

Context: TypeAlias = aio.ServicerContext[Any, Any]

_PAGE_SIZE = 1000
_DRAINING_RETRY_S = 1.0  # behind a balancer another server answers at once
_NO_CLONING = "The voices of this server are fixed: its bundle cannot clone, or engine.voices_dir is not set."


class TextToSpeechService(TextToSpeechServiceServicer):
    """Serves `antiphon.v1.TextToSpeechService`.

    Args:
        synthesizer: Who speaks.
        voices: The voices of the bundle.
        manifest: What the bundle can do.
        limits: How much a stream may hold back.
        voice_maker: Who makes voices of recordings, if anyone.
    """

    def __init__(
        self,
        synthesizer: Synthesizer,
        voices: VoiceCatalogue,
        manifest: Manifest,
        limits: AdmissionSettings,
        voice_maker: "VoiceMaker | None" = None,
    ) -> None:
        self._synthesizer = synthesizer
        self._voices = voices
        self._manifest = manifest
        self._limits = limits
        self._voice_maker = voice_maker
        self._conversations: set[Conversation] = set()
        self._are_closed = asyncio.Event()
        self._are_closed.set()
        self._is_draining = False

    def drain(self) -> None:
        """Refuses new streams, and ends each running one when what is asked of it is spoken."""
        self._is_draining = True
        for conversation in self._conversations:
            conversation.end(_draining_error())

    async def wait_closed(self) -> None:
        """Returns when no stream is open."""
        await self._are_closed.wait()

    async def Synthesize(  # type: ignore[override] # a coroutine that writes, where the stub expects a generator
        self, request_iterator: AsyncIterator[messages.SynthesizeRequest], context: Context
    ) -> None:
        """Speaks text while it is being written."""
        if self._is_draining:
            raise _draining_error()
        deadline_s = _deadline_s(context)
        conversation = Conversation(
            self._synthesizer,
            lambda config: self._stream_config(config, deadline_s),
            context.write,
            self._limits,
        )
        self._conversations.add(conversation)
        self._are_closed.clear()
        try:
            await conversation.run(request_iterator)
        finally:
            self._conversations.discard(conversation)
            if not self._conversations:
                self._are_closed.set()
            structlog.contextvars.bind_contextvars(
                utterances=conversation.utterance_count,
                characters=conversation.character_count,
                audio_s=round(conversation.audio_s, 3),
            )

    async def ListVoices(self, request: messages.ListVoicesRequest, context: Context) -> messages.ListVoicesResponse:
        """Lists the voices, ordered by name."""
        if request.page_size < 0:
            raise OutOfRangeError(f"page_size is {request.page_size}; it must not be negative.", "page_size")
        voices = [voice for voice in self._voices.voices if _speaks(voice, request.language)]
        first = _first_of_page(request.page_token, len(voices))
        after = first + min(request.page_size or _PAGE_SIZE, _PAGE_SIZE)
        return messages.ListVoicesResponse(
            voices=[self._message(voice) for voice in voices[first:after]],
            next_page_token=str(after) if after < len(voices) else "",
        )

    async def GetVoice(self, request: messages.GetVoiceRequest, context: Context) -> messages.GetVoiceResponse:
        """Describes one voice."""
        return messages.GetVoiceResponse(voice=self._message(self._voices.get(request.name)))

    async def CreateVoice(
        self, request_iterator: AsyncIterator[messages.CreateVoiceRequest], context: Context
    ) -> messages.CreateVoiceResponse:
        """Makes a voice of a recording."""
        maker = self._maker()
        from server.voice_requests import (
            read_recording,
        )  # only now: it needs what a server without cloning need not have

        if self._is_draining:
            raise _draining_error()
        language = self._voices.default.language_codes[0]
        with maker.recordings.begin() as recording:
            wish = await read_recording(request_iterator, maker, recording, language)
            await maker.make(wish, bytes(recording.content))
        return messages.CreateVoiceResponse(voice=self._message(self._voices.get(wish.name)))

    async def DeleteVoice(self, request: messages.DeleteVoiceRequest, context: Context) -> messages.DeleteVoiceResponse:
        """Deletes a voice that was made of a recording."""
        await self._maker().delete(request.name)
        return messages.DeleteVoiceResponse()

    def _maker(self) -> "VoiceMaker":
        if self._voice_maker is None:
            raise FeatureUnavailableError(_NO_CLONING)
        return self._voice_maker

    def _stream_config(self, message: synthesis_pb2.SynthesisConfig, deadline_s: float) -> StreamConfig:
        config = stream_config(message, deadline_s)
        self._synthesizer.check(config.utterance)
        voice = self._voices.get(config.utterance.voice_name)
        if config.word_timings and not self._manifest.capabilities.word_times:
            raise FeatureUnavailableError(
                f"config.word_timings is set, but voice {voice.name!r} cannot report words; leave it out."
            )
        return dataclasses.replace(config, language=_language(voice, config.language))

    def _message(self, voice: Voice) -> voice_pb2.Voice:
        return voice_message(voice, self._manifest, voice == self._voices.default)


def _deadline_s(context: Context) -> float:
    """The deadline of a call, on the monotonic clock; infinity if it has none."""
    remaining_s = context.time_remaining()
    return math.inf if remaining_s is None else time.monotonic() + remaining_s


def _draining_error() -> DrainingError:
    sentence = f"The server is stopping and takes nothing new; call again in {_DRAINING_RETRY_S:g} s."
    return DrainingError(sentence, _DRAINING_RETRY_S)


def _speaks(voice: Voice, language: str) -> bool:
    """Whether a voice speaks a language; one without a region, such as "en", stands for all its regions."""
    wanted = language.lower()
    codes = [code.lower() for code in voice.language_codes]
    return not wanted or any(code == wanted or code.startswith(f"{wanted}-") for code in codes)


def _language(voice: Voice, language: str) -> str:
    if not _speaks(voice, language):
        raise InvalidConfigError(
            f"config.language is {language!r}, but voice {voice.name!r} speaks {', '.join(voice.language_codes)}; "
            "ask for one of these, or leave it out.",
            "config.language",
        )
    return language or voice.language_codes[0]


def _first_of_page(token: str, voice_count: int) -> int:
    if not token:
        return 0
    if not token.isascii() or not token.isdecimal() or int(token) > voice_count:
        raise InvalidConfigError("page_token is not of this server; leave it empty for the first page.", "page_token")
    return int(token)
