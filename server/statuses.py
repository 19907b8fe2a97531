"""The table errors -> gRPC status, with the details that clients act upon."""

from collections.abc import Mapping

import grpc
from google.protobuf import any_pb2, duration_pb2, message
from google.rpc import error_details_pb2, status_pb2

from server.errors import (
    AntiphonError,
    DeadlineExceededError,
    DrainingError,
    FeatureUnavailableError,
    IdleTimeoutError,
    InternalError,
    InvalidRequestError,
    QueueFullError,
    QueueTimeoutError,
    ReaderStalledError,
    RefusedError,
    ServerFullError,
    SettingsError,
    StorageFullError,
    UnauthenticatedError,
    VoiceExistsError,
    VoiceFixedError,
    VoiceNotFoundError,
)

DOMAIN = "antiphon"

CODE_OF_ERROR: Mapping[type[AntiphonError], grpc.StatusCode] = {
    InvalidRequestError: grpc.StatusCode.INVALID_ARGUMENT,
    UnauthenticatedError: grpc.StatusCode.UNAUTHENTICATED,
    VoiceNotFoundError: grpc.StatusCode.NOT_FOUND,
    VoiceExistsError: grpc.StatusCode.ALREADY_EXISTS,
    VoiceFixedError: grpc.StatusCode.FAILED_PRECONDITION,
    FeatureUnavailableError: grpc.StatusCode.UNIMPLEMENTED,
    RefusedError: grpc.StatusCode.UNAVAILABLE,
    ServerFullError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    QueueFullError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    QueueTimeoutError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    DrainingError: grpc.StatusCode.UNAVAILABLE,
    StorageFullError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    DeadlineExceededError: grpc.StatusCode.DEADLINE_EXCEEDED,
    IdleTimeoutError: grpc.StatusCode.DEADLINE_EXCEEDED,
    ReaderStalledError: grpc.StatusCode.ABORTED,
    InternalError: grpc.StatusCode.INTERNAL,
    SettingsError: grpc.StatusCode.FAILED_PRECONDITION,
}
"""Status of each branch of the tree of errors; a class that is not here takes that of its nearest parent."""

_QUOTAS: Mapping[type[AntiphonError], str] = {
    ServerFullError: "utterances",
    QueueFullError: "queue",
    QueueTimeoutError: "queue",
    StorageFullError: "voices",
}
"""Which limit was met, for `QuotaFailure`."""


def code_of(error: AntiphonError) -> grpc.StatusCode:
    """The status of an error."""
    return next(CODE_OF_ERROR[kind] for kind in type(error).__mro__ if kind in CODE_OF_ERROR)


def status_of(error: AntiphonError) -> status_pb2.Status:
    """The status of an error with its sentence and all its details."""
    return status_pb2.Status(
        code=code_of(error).value[0], message=str(error), details=[_packed(detail) for detail in _details(error)]
    )


def _details(error: AntiphonError) -> list[message.Message]:
    details: list[message.Message] = [error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)]
    if isinstance(error, InvalidRequestError) and error.field:
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=str(error), reason=error.reason
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, RefusedError):
        delay = duration_pb2.Duration()
        delay.FromMilliseconds(round(error.retry_after_s * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    if type(error) in _QUOTAS:
        quota = error_details_pb2.QuotaFailure.Violation(subject=_QUOTAS[type(error)], description=str(error))
        details.append(error_details_pb2.QuotaFailure(violations=[quota]))
    return details


def _packed(detail: message.Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(detail)
    return packed
