"""The table from errors to gRPC statuses."""

import grpc
import pytest
from google.rpc import error_details_pb2

from server import errors
from server.statuses import CODE_OF_ERROR, code_of, status_of


def all_errors(kind: type[errors.AntiphonError] = errors.AntiphonError) -> list[type[errors.AntiphonError]]:
    """Every class of the tree below a class."""
    return [below for child in kind.__subclasses__() for below in (child, *all_errors(child))]


def made(kind: type[errors.AntiphonError]) -> errors.AntiphonError:
    """An error of a class."""
    return kind("It is wrong.", 2.5) if issubclass(kind, errors.RefusedError) else kind("It is wrong.")


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status(kind: type[errors.AntiphonError]) -> None:
    """Each class of the tree is in the table itself or below a class that is, and never becomes OK or UNKNOWN."""
    assert any(parent in CODE_OF_ERROR for parent in kind.__mro__)
    assert code_of(made(kind)) not in (grpc.StatusCode.OK, grpc.StatusCode.UNKNOWN)


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_status_states_its_reason(kind: type[errors.AntiphonError]) -> None:
    """The first detail is an ErrorInfo with the reason of the class, and the message is the sentence."""
    status = status_of(made(kind))
    info = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(info)

    assert ("It is wrong.", kind.reason, "antiphon") == (status.message, info.reason, info.domain)


def test_reasons_are_unique() -> None:
    """No two classes share a reason, so a client can tell them apart."""
    reasons = [kind.reason for kind in all_errors()]

    assert len(reasons) == len(set(reasons))


def test_a_wrong_field_is_named() -> None:
    """A BadRequest carries the path of the field and the sentence."""
    status = status_of(errors.OutOfRangeError("config.seed is -1; it must not be negative.", "config.seed"))
    bad_request = error_details_pb2.BadRequest()

    assert status.details[1].Unpack(bad_request)
    assert ["config.seed"] == [violation.field for violation in bad_request.field_violations]
    assert ["OUT_OF_RANGE"] == [violation.reason for violation in bad_request.field_violations]


def test_a_full_server_says_when_and_why() -> None:
    """RetryInfo holds the wait to the millisecond, QuotaFailure the limit that was met."""
    status = status_of(errors.ServerFullError("All 8 places are taken; try again in 0.25 s.", 0.25))
    retry, quota = error_details_pb2.RetryInfo(), error_details_pb2.QuotaFailure()

    assert status.details[1].Unpack(retry)
    assert status.details[2].Unpack(quota)
    assert 250 == retry.retry_delay.ToMilliseconds()
    assert ["utterances"] == [violation.subject for violation in quota.violations]
