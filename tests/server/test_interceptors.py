"""What surrounds a call: faults without a word of the user's text, request ids, log lines."""

import contextlib
from collections.abc import AsyncIterator, Callable

import grpc
import pytest
import structlog
from grpc import aio
from prometheus_client import CollectorRegistry

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1.text_to_speech_service_pb2_grpc import (
    TextToSpeechServiceServicer,
    TextToSpeechServiceStub,
    add_TextToSpeechServiceServicer_to_server,
)
from antiphon_client.errors import error_from_rpc
from server.call_metrics import CallMetrics
from server.credentials import ApiKeys
from server.errors import VoiceNotFoundError
from server.interceptors import CallInterceptor

Answer = Callable[[messages.GetVoiceRequest], messages.GetVoiceResponse]


class OneAnswer(TextToSpeechServiceServicer):
    """A service whose one method does what a test wants."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def GetVoice(  # noqa: N802 - the contract names the method
        self, request: messages.GetVoiceRequest, context: object
    ) -> messages.GetVoiceResponse:
        """Answers."""
        return self._answer(request)


@contextlib.asynccontextmanager
async def intercepted(answer: Answer, registry: CollectorRegistry) -> AsyncIterator[TextToSpeechServiceStub]:
    """A client of a server with nothing but the interceptor and one answer."""
    server = aio.server(interceptors=(CallInterceptor(CallMetrics(registry), ApiKeys()),))
    add_TextToSpeechServiceServicer_to_server(OneAnswer(answer), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield TextToSpeechServiceStub(channel)
    await server.stop(None)


def broken(request: messages.GetVoiceRequest) -> messages.GetVoiceResponse:
    """Fails as nobody expected, with the caller's words in the message."""
    raise KeyError(f"no such voice: {request.name}")


async def test_a_fault_tells_nothing_but_its_id() -> None:
    """INTERNAL with the request id for the caller; for the operator the kind of error and its place, no words."""
    registry = CollectorRegistry()
    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as log:
        async with intercepted(broken, registry) as stub:
            with pytest.raises(aio.AioRpcError) as error:
                await stub.GetVoice(messages.GetVoiceRequest(name="pomegranate"), metadata=(("x-request-id", "id-1"),))

    assert grpc.StatusCode.INTERNAL == error.value.code()
    assert "INTERNAL" == error_from_rpc(error.value).reason
    assert "at request id id-1" in str(error.value.details())
    assert ["KeyError", "INTERNAL"] == [log[1]["error"], log[0]["code"]]
    assert any("in broken" in place for place in log[1]["at"])
    assert "pomegranate" not in str(log) + str(error.value)


async def test_every_call_is_one_line() -> None:
    """Method, status, reason, length and request id, of good calls and refused ones."""

    def picky(request: messages.GetVoiceRequest) -> messages.GetVoiceResponse:
        if request.name:
            raise VoiceNotFoundError("There is no such voice.")
        return messages.GetVoiceResponse()

    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as log:
        async with intercepted(picky, CollectorRegistry()) as stub:
            await stub.GetVoice(messages.GetVoiceRequest(), metadata=(("x-request-id", "good"),))
            with pytest.raises(aio.AioRpcError):
                await stub.GetVoice(messages.GetVoiceRequest(name="x"), metadata=(("x-request-id", "bad"),))
    for line in log:
        assert 0 <= line.pop("seconds") < 60
        line.pop("log_level")

    common = {"event": "call", "method": "GetVoice"}
    assert [
        {**common, "code": "OK", "request_id": "good"},
        {**common, "code": "NOT_FOUND", "reason": "VOICE_NOT_FOUND", "request_id": "bad"},
    ] == log


async def test_calls_are_counted_by_status() -> None:
    """Started, ended by status, and messages each way."""
    registry = CollectorRegistry()
    labels = {
        "grpc_type": "unary",
        "grpc_service": "antiphon.v1.TextToSpeechService",
        "grpc_method": "GetVoice",
    }
    async with intercepted(lambda _: messages.GetVoiceResponse(), registry) as stub:
        await stub.GetVoice(messages.GetVoiceRequest())

    for name in ("started", "msg_received", "msg_sent"):
        assert 1 == registry.get_sample_value(f"grpc_server_{name}_total", labels)
    assert 1 == registry.get_sample_value("grpc_server_handled_total", {**labels, "grpc_code": "OK"})
    assert 1 == registry.get_sample_value("grpc_server_handling_seconds_count", labels)
