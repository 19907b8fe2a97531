"""TensorRT's one logger: the first that any of its objects is given serves the whole process, so there is only this."""

import logging
from functools import cache
from typing import Any, Protocol

from trt_engines.tensorrt.flavor import Flavor

_LOG = logging.getLogger(__name__)
_KEPT_ERRORS = 5
_EXPECTED = "row_count"  # TensorRT warns twice that prefill has it and may not read it


class TensorrtLog(Protocol):
    """What TensorRT's messages leave behind.

    Attributes:
        errors: the last few error messages, oldest first.
        recorded: every message, if recording has been started by putting a list here.
    """

    errors: list[str]
    recorded: list[str] | None


@cache
def tensorrt_log(flavor: Flavor) -> Any:  # noqa: ANN401 # a TensorrtLog that is TensorRT's ILogger as well
    """Return the logger of a package, made on first use."""
    return _new_log(flavor.api)


def _new_log(api: Any) -> Any:  # noqa: ANN401
    levels = {
        api.ILogger.INTERNAL_ERROR: logging.ERROR,
        api.ILogger.ERROR: logging.ERROR,
        api.ILogger.WARNING: logging.WARNING,
    }

    class Log(api.ILogger):  # type: ignore[misc] # its class is known only once the package is imported
        def __init__(self) -> None:
            api.ILogger.__init__(self)
            self.errors: list[str] = []
            self.recorded: list[str] | None = None

        def log(self, severity: object, message: str) -> None:
            if self.recorded is not None:
                self.recorded.append(message)
            level = logging.DEBUG if _EXPECTED in message else levels.get(severity, logging.DEBUG)
            if level == logging.ERROR:
                self.errors = [*self.errors, message][-_KEPT_ERRORS:]
            _LOG.log(level, "%s", message)

    return Log()
