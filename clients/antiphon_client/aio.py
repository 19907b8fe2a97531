"""The client for asyncio.

async with AsyncClient("localhost:50051") as client:
    async for chunk in client.speak("Good morning."):
        play(chunk.audio)
"""

import asyncio
import uuid
from pathlib import Path
from types import TracebackType

import grpc
from grpc import aio

from antiphon.v1 import text_to_speech_service_pb2, text_to_speech_service_pb2_grpc
from antiphon_client.conversation import Conversation
from antiphon_client.errors import REQUEST_ID_KEY, error_from_rpc
from antiphon_client.new_voice import NewVoice, creation
from antiphon_client.options import ConnectionOptions, SpeechOptions
from antiphon_client.speech import Speech
from antiphon_client.text import Text
from antiphon_client.voice import Voice, voice_from_proto

DEFAULT_TARGET = "localhost:50051"


class AsyncClient:
    """A connection to a server, shared by any number of utterances. Make it where an event loop runs.

    Args:
        target: Host and port, or any target gRPC knows.
        options: How to connect.
    """

    def __init__(self, target: str = DEFAULT_TARGET, options: ConnectionOptions | None = None) -> None:
        self._options = options or ConnectionOptions()
        self._channel = _channel(target, self._options)
        self._stub = text_to_speech_service_pb2_grpc.TextToSpeechServiceStub(self._channel)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    def speak(self, text: Text, options: SpeechOptions | None = None, *, timeout_s: float | None = None) -> Speech:
        """Speaks one utterance; nothing is sent before the result is iterated over or saved.

        Args:
            text: A string, or pieces of text that become known while they are spoken.
            options: How to speak.
            timeout_s: Longest time from the first text to the last audio; None waits for ever.
        """
        return Speech(lambda: self.converse(options, timeout_s=timeout_s), text, self._options.retry)

    def converse(self, options: SpeechOptions | None = None, *, timeout_s: float | None = None) -> Conversation:
        """Opens a stream for any number of utterances. It is never tried again.

        Args:
            options: How to speak, until `Conversation.configure` says otherwise.
            timeout_s: Longest life of the stream; None lets it live for ever.
        """
        request_id = uuid.uuid4().hex
        call = self._stub.Synthesize(timeout=timeout_s, metadata=self._metadata(request_id))
        return Conversation(call, options or SpeechOptions(), request_id)

    async def voices(self, language: str = "", *, timeout_s: float | None = 10.0) -> list[Voice]:
        """Lists the voices, ordered by name.

        Args:
            language: Only voices that speak it, as a BCP 47 tag; empty lists all.
            timeout_s: Longest wait for the answer.

        Raises:
            AntiphonError: The server cannot be reached, or refused.
        """
        request_id = uuid.uuid4().hex
        voices: list[Voice] = []
        request = text_to_speech_service_pb2.ListVoicesRequest(language=language)
        try:
            while True:
                page = await self._stub.ListVoices(request, timeout=timeout_s, metadata=self._metadata(request_id))
                voices += map(voice_from_proto, page.voices)
                if not page.next_page_token:
                    return voices
                request.page_token = page.next_page_token
        except aio.AioRpcError as error:
            raise error_from_rpc(error, request_id) from error

    async def voice(self, name: str = "", *, timeout_s: float | None = 10.0) -> Voice:
        """Describes one voice; an empty name is the default voice.

        Raises:
            VoiceNotFoundError: No voice of that name.
            AntiphonError: The server cannot be reached, or refused.
        """
        request_id = uuid.uuid4().hex
        request = text_to_speech_service_pb2.GetVoiceRequest(name=name)
        try:
            answer = await self._stub.GetVoice(request, timeout=timeout_s, metadata=self._metadata(request_id))
        except aio.AioRpcError as error:
            raise error_from_rpc(error, request_id) from error
        return voice_from_proto(answer.voice)

    async def create_voice(
        self, voice: NewVoice, recording: bytes | str | Path, *, timeout_s: float | None = 300.0
    ) -> Voice:
        """Makes a voice of a recording; it can speak when this returns. Never tried again.

        Args:
            voice: What is said about it.
            recording: A WAV, FLAC, Ogg or MP3 file, as bytes or as a path, or headerless samples as bytes.
            timeout_s: Longest time to send the recording and to wait for the voice.

        Raises:
            OSError: The file cannot be read; the server was told nothing.
            VoiceExistsError: A voice of that name is there already.
            UnsupportedError: This server makes no voices.
            RequestError: The recording or what is said about it cannot become a voice; `fields` says why.
            AntiphonError: The server cannot be reached, refused, or failed.
        """
        request_id = uuid.uuid4().hex
        content = recording if isinstance(recording, bytes) else await asyncio.to_thread(Path(recording).read_bytes)
        call = self._stub.CreateVoice(creation(voice, content), timeout=timeout_s, metadata=self._metadata(request_id))
        try:
            answer = await call
        except aio.AioRpcError as error:
            raise error_from_rpc(error, request_id) from error
        return voice_from_proto(answer.voice)

    async def delete_voice(self, name: str, *, timeout_s: float | None = 10.0) -> None:
        """Deletes a voice that was made with `create_voice`; what speaks with it is spoken to its end.

        Raises:
            VoiceNotFoundError: No such voice was made.
            VoiceFixedError: The voice came with the server.
            UnsupportedError: This server makes no voices.
            AntiphonError: The server cannot be reached, refused, or failed.
        """
        request_id = uuid.uuid4().hex
        request = text_to_speech_service_pb2.DeleteVoiceRequest(name=name)
        try:
            await self._stub.DeleteVoice(request, timeout=timeout_s, metadata=self._metadata(request_id))
        except aio.AioRpcError as error:
            raise error_from_rpc(error, request_id) from error

    async def close(self) -> None:
        """Closes the connection; what is still being spoken is cut off."""
        await self._channel.close()

    def _metadata(self, request_id: str) -> tuple[tuple[str, str], ...]:
        request = ((REQUEST_ID_KEY, request_id),)
        key = self._options.api_key
        return (*request, ("authorization", f"Bearer {key}")) if key else request


def _channel(target: str, options: ConnectionOptions) -> aio.Channel:
    arguments = options.channel_arguments()
    if not options.tls:
        return aio.insecure_channel(target, options=arguments)
    credentials = grpc.ssl_channel_credentials(
        options.root_certificates, options.client_key, options.client_certificate
    )
    return aio.secure_channel(target, credentials, options=arguments)
