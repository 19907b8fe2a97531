"""A real gRPC server whose answers are written down in the test: the edge at which the client is tested."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc import aio
from grpc_status import rpc_status

from antiphon.v1 import audio_pb2, synthesis_pb2
from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1.text_to_speech_service_pb2_grpc import (
    TextToSpeechServiceServicer,
    add_TextToSpeechServiceServicer_to_server,
)
from server.responses import duration

Response = messages.SynthesizeResponse
Context: TypeAlias = aio.ServicerContext[Any, Any]
Script: TypeAlias = Callable[[AsyncIterator[messages.SynthesizeRequest], Context], Awaitable[None]]


class ScriptedServer(TextToSpeechServiceServicer):
    """Plays one script for each call of `Synthesize`, the last one again and again.

    Args:
        scripts: What to do in each call.

    Attributes:
        calls: The metadata of every call so far.
    """

    def __init__(self, *scripts: Script) -> None:
        self.calls: list[dict[str, str]] = []
        self.target = ""
        self._scripts = scripts

    async def Synthesize(  # type: ignore[override] # noqa: N802 - the contract names the method
        self, request_iterator: AsyncIterator[messages.SynthesizeRequest], context: Context
    ) -> None:
        """Plays the next script."""
        self.calls.append({str(key): str(value) for key, value in context.invocation_metadata() or ()})
        script = self._scripts[min(len(self.calls), len(self._scripts)) - 1]
        await script(request_iterator, context)


@contextlib.asynccontextmanager
async def serving(*scripts: Script) -> AsyncIterator[ScriptedServer]:
    """Runs a scripted server on a free port."""
    servicer = ScriptedServer(*scripts)
    server = aio.server(options=(("grpc.so_reuseport", 0),))
    add_TextToSpeechServiceServicer_to_server(servicer, server)
    servicer.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield servicer
    finally:
        await server.stop(None)


def started(rate_hz: int = 8000) -> Response:
    """An utterance was accepted."""
    audio_format = audio_pb2.AudioFormat(encoding=audio_pb2.AUDIO_ENCODING_PCM_S16LE, sample_rate_hz=rate_hz)
    config = synthesis_pb2.SynthesisConfig(voice="scripted", seed=5, max_lead=duration(2.0), audio_format=audio_format)
    return Response(started=synthesis_pb2.Started(audio_format=audio_format, config=config))


def audio(content: bytes, *words: synthesis_pb2.WordTiming) -> Response:
    """A chunk."""
    length = duration(len(content) / 16000)
    return Response(audio=synthesis_pb2.AudioChunk(content=content, duration=length, words=words))


def finished() -> Response:
    """The utterance is over."""
    return Response(finished=synthesis_pb2.Finished(audio_duration=duration(0.5), segment_count=1, character_count=5))


async def refuse(
    context: Context, code: grpc.StatusCode, reason: str = "", retry_after_s: float | None = None, field: str = ""
) -> None:
    """Ends a call with a status and the details that the server would send."""
    details: list[Any] = [error_details_pb2.ErrorInfo(reason=reason, domain="antiphon")] if reason else []
    if retry_after_s is not None:
        details.append(error_details_pb2.RetryInfo(retry_delay=duration(retry_after_s)))
    if field:
        violation = error_details_pb2.BadRequest.FieldViolation(field=field, description="It is wrong.")
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    packed = [any_pb2.Any() for _ in details]
    for box, detail in zip(packed, details, strict=True):
        box.Pack(detail)
    status = status_pb2.Status(code=code.value[0], message=f"Refused: {reason}.", details=packed)
    await context.abort_with_status(rpc_status.to_status(status))


async def speak(requests: AsyncIterator[messages.SynthesizeRequest], context: Context) -> None:
    """Answers every piece of text with two bytes per character, and ends when the client does."""
    is_started = False
    async for request in requests:
        if request.WhichOneof("message") == "text":
            if not is_started:
                await context.write(started())
                is_started = True
            await context.write(audio(request.text.encode("utf-16-le")))
        if request.WhichOneof("message") == "cancel":
            await context.write(Response(cancelled=synthesis_pb2.Cancelled(sent_duration=duration(0.25))))
            return
        if request.flush.end_utterance:
            await context.write(finished())
            is_started = False
    if is_started:
        await context.write(finished())
