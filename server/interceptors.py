"""What surrounds every call: request id, API key, the answer to errors, one log line, metrics. Never any text.

Only calls of `antiphon.*` are treated so; health, reflection and channelz pass as they are.
"""

import asyncio
import time
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

import grpc
import structlog
from google.protobuf import message
from grpc import aio
from grpc_status import rpc_status

from server.call_metrics import CallMetrics
from server.credentials import ApiKeys
from server.errors import AntiphonError, InternalError, InvalidRequestError
from server.statuses import code_of, status_of

REQUEST_ID_KEY = "x-request-id"
_SERVICES = "/antiphon."
_REQUEST_ID_CHARACTERS = 128

Labels: TypeAlias = tuple[str, str, str]
Context: TypeAlias = aio.ServicerContext[Any, Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
MaybeHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"
Behavior: TypeAlias = Callable[[Any, Context], Awaitable[Any]]

_log = structlog.get_logger()


class CallInterceptor(aio.ServerInterceptor):
    """Wraps every call of the service.

    Args:
        metrics: Where calls are counted.
        keys: Who may call.
    """

    def __init__(self, metrics: CallMetrics, keys: ApiKeys) -> None:
        self._metrics = metrics
        self._keys = keys

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[MaybeHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> MaybeHandler:
        """Puts the wrapper between gRPC and the method that was called."""
        handler = await continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(_SERVICES):
            return handler
        return self._wrapped(handler, handler_call_details.method)

    def _wrapped(self, handler: Handler, method: str) -> Handler:
        make, behavior = _kind(handler)
        _, service, name = method.split("/")
        labels = (_type_name(handler), service, name)

        async def call(request: object, context: Context) -> object:
            return await self._call(behavior, labels, request, context)

        deserialize = _tolerant(self._counted(self._metrics.received, labels, handler.request_deserializer))
        return make(call, deserialize, self._counted(self._metrics.sent, labels, handler.response_serializer))

    def _counted(
        self, count: Callable[[Labels], None], labels: Labels, convert: Callable[[Any], Any] | None
    ) -> Callable[[Any], Any]:
        """Counts a message whenever it is read or written."""

        def counted(message: object) -> object:
            count(labels)
            return convert(message) if convert else message

        return counted

    async def _call(self, behavior: Behavior, labels: Labels, request: object, context: Context) -> object:
        metadata = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        request_id = _request_id(metadata)
        structlog.contextvars.bind_contextvars(request_id=request_id)
        call = _Call(labels, self._metrics)
        try:
            self._keys.check(metadata.get("authorization"))
            await context.send_initial_metadata(((REQUEST_ID_KEY, request_id),))
            response = await behavior(_checked(request), context)
            call.end(grpc.StatusCode.OK)
            return response
        except AntiphonError as error:
            call.end(code_of(error), error.reason)
            await context.abort_with_status(rpc_status.to_status(status_of(error)))
        except (asyncio.CancelledError, aio.InternalError):
            # The client is gone, or its deadline has passed: gRPC cancels the task, or a write that waits fails.
            call.end(grpc.StatusCode.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 - the edge of the process: an unknown message may hold text of a user
            call.end(grpc.StatusCode.INTERNAL, type(error).__name__)
            _log.error("unexpected error", error=type(error).__name__, at=traceback.format_tb(error.__traceback__))
            fault = InternalError(f"The server met an unexpected error; its log says more at request id {request_id}.")
            await context.abort_with_status(rpc_status.to_status(status_of(fault)))


class _Call:
    """One call, from its start to its log line."""

    def __init__(self, labels: Labels, metrics: CallMetrics) -> None:
        self._labels = labels
        self._metrics = metrics
        self._started_s = time.monotonic()
        metrics.started(labels)

    def end(self, code: grpc.StatusCode, reason: str = "") -> None:
        seconds = time.monotonic() - self._started_s
        self._metrics.handled(self._labels, code.name, seconds)
        facts = {"method": self._labels[2], "code": code.name, "seconds": round(seconds, 3)}
        if reason:
            facts["reason"] = reason
        _log.info("call", **facts)


class _Malformed:
    """Stands for a message that could not be read."""


def _tolerant(deserialize: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """Lets a message that cannot be read reach the call, which refuses it with a sentence; gRPC alone says nothing."""

    def deserialized(data: bytes) -> object:
        try:
            return deserialize(data)
        except message.DecodeError:
            return _Malformed()

    return deserialized


def _checked(request: object) -> object:
    if isinstance(request, message.Message | _Malformed):
        return _readable(request)
    return _readable_each(request)


async def _readable_each(requests: Any) -> AsyncIterator[object]:  # noqa: ANN401 - gRPC's own iterator
    async for request in requests:
        yield _readable(request)


def _readable(request: object) -> object:
    if isinstance(request, _Malformed):
        raise InvalidRequestError(
            "A request message cannot be read: it is cut off, of another type, or holds text that is not UTF-8. "
            "Send messages of antiphon.v1 with text in UTF-8."
        )
    return request


def _request_id(metadata: Mapping[str, str]) -> str:
    """The caller's id if it is fit for a log line, otherwise a new one."""
    given = metadata.get(REQUEST_ID_KEY, "")
    is_fit = 0 < len(given) <= _REQUEST_ID_CHARACTERS and given.isascii() and given.isprintable() and " " not in given
    return given if is_fit else uuid.uuid4().hex


def _kind(handler: Handler) -> tuple[Callable[..., Handler], Behavior]:
    """How to make a handler of the same kind, and what it calls."""
    if handler.unary_unary:
        return grpc.unary_unary_rpc_method_handler, cast("Behavior", handler.unary_unary)
    if handler.stream_unary:
        return grpc.stream_unary_rpc_method_handler, cast("Behavior", handler.stream_unary)
    return grpc.stream_stream_rpc_method_handler, cast("Behavior", handler.stream_stream)


def _type_name(handler: Handler) -> str:
    if handler.request_streaming:
        return "bidi_stream" if handler.response_streaming else "client_stream"
    return "unary"
