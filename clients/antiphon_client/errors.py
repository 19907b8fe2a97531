"""Everything a client can meet, as one tree.

AntiphonError                  carries `reason`, `fields`, `retry_after_s`, `request_id`
├── RequestError                 the request must be changed; `fields` names the offending ones
│   ├── VoiceNotFoundError         no voice of that name
│   ├── VoiceExistsError           a voice of that name is there already
│   ├── VoiceFixedError            the voice came with the server and cannot be deleted
│   ├── UnsupportedError           this server or this voice cannot do that
│   └── AuthenticationError        the API key is missing or wrong
├── RetryableError               nothing was spoken; the same request may succeed after `retry_after_s`
│   ├── ServerBusyError            the server is full
│   └── ServerUnavailableError     the server is not reachable, or stopping
├── DeadlineError                the time given to the call, or to an idle stream, is over
├── StreamEndedError             nothing can be sent any more; reading the events says why
├── SpeechInterruptedError       the stream broke after its first audio; `__cause__` says why
└── ServerError                  a fault of the server; quote `request_id` to its operator
"""

from collections.abc import Mapping

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

_DETAILS_KEY = "grpc-status-details-bin"
REQUEST_ID_KEY = "x-request-id"


class AntiphonError(Exception):
    """Root of the tree.

    Args:
        message: The server's sentence.
        reason: Stable UPPER_SNAKE word of the server, such as `SERVER_FULL`; empty if no server answered.
        fields: Path of each offending field and what is wrong with it.
        retry_after_s: Seconds after which the server expects to have room; None if it did not say.
        request_id: The id under which the server logged the call; empty if no server answered.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        fields: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.fields = dict(fields or {})
        self.retry_after_s = retry_after_s
        self.request_id = request_id


class RequestError(AntiphonError):
    """The request must be changed; sending it again cannot help."""


class VoiceNotFoundError(RequestError):
    """No voice of that name."""


class VoiceExistsError(RequestError):
    """A voice of that name is there already."""


class VoiceFixedError(RequestError):
    """The voice came with the server and cannot be deleted."""


class UnsupportedError(RequestError):
    """This server or this voice cannot do that."""


class AuthenticationError(RequestError):
    """The API key is missing or wrong."""


class RetryableError(AntiphonError):
    """Nothing was spoken, and the same request may succeed later."""


class ServerBusyError(RetryableError):
    """The server is full."""


class ServerUnavailableError(RetryableError):
    """The server is not reachable, or stopping."""


class DeadlineError(AntiphonError):
    """The time given to the call, or to an idle stream, is over."""


class StreamEndedError(AntiphonError):
    """The stream has ended, so nothing can be sent on it any more."""


class SpeechInterruptedError(AntiphonError):
    """The stream broke after its first audio, so it was not tried again."""


class ServerError(AntiphonError):
    """A fault of the server."""


CLASS_OF_CODE: Mapping[grpc.StatusCode, type[AntiphonError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: RequestError,
    grpc.StatusCode.ALREADY_EXISTS: VoiceExistsError,
    grpc.StatusCode.FAILED_PRECONDITION: VoiceFixedError,
    grpc.StatusCode.OUT_OF_RANGE: RequestError,
    grpc.StatusCode.NOT_FOUND: VoiceNotFoundError,
    grpc.StatusCode.UNIMPLEMENTED: UnsupportedError,
    grpc.StatusCode.UNAUTHENTICATED: AuthenticationError,
    grpc.StatusCode.PERMISSION_DENIED: AuthenticationError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ServerBusyError,
    grpc.StatusCode.UNAVAILABLE: ServerUnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineError,
}
"""Class of each status; any other status is a `ServerError`."""


def error_from_rpc(error: aio.AioRpcError, request_id: str = "") -> AntiphonError:
    """Turns a failed call into an error of the tree, with all details the server sent."""
    reason, fields, retry_after_s = "", {}, None
    for detail in _details(error):
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            detail.Unpack(info)
            reason = info.reason
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad_request = error_details_pb2.BadRequest()
            detail.Unpack(bad_request)
            fields = {violation.field: violation.description for violation in bad_request.field_violations}
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry = error_details_pb2.RetryInfo()
            detail.Unpack(retry)
            retry_after_s = retry.retry_delay.ToTimedelta().total_seconds()
    kind = CLASS_OF_CODE.get(error.code(), ServerError)
    message = error.details() or f"The call failed with {error.code().name}."
    return kind(message, reason=reason, fields=fields, retry_after_s=retry_after_s, request_id=request_id)


def _details(error: aio.AioRpcError) -> list[any_pb2.Any]:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            return list(status_pb2.Status.FromString(value).details)
    return []
