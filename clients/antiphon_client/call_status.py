"""The status with which the server ended a call, also where gRPC loses it.

A write that fails because the server has just ended the call makes grpc.aio replace the server's status by its own
(github.com/grpc/grpc/issues/36066, open). A client that sends words to a server that refuses meets this often.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from grpc import aio

_REPLACEMENT = "Internal error from Core"
_PATIENCE_S = 1.0


class CallStatus:
    """Keeps the first status of a call that came from the server.

    Args:
        call: The call, right after it was made.
    """

    def __init__(self, call: aio.StreamStreamCall[Any, Any]) -> None:
        self._call = call
        self._has_come = asyncio.Event()
        self._error: aio.AioRpcError | None = None
        call.add_done_callback(self._note)

    async def true_error(self, error: aio.AioRpcError) -> aio.AioRpcError | None:
        """Returns the server's own error for one that gRPC raised; None if the server ended the call with OK."""
        if error.details() != _REPLACEMENT:
            return error
        try:
            await asyncio.wait_for(self._has_come.wait(), _PATIENCE_S)
        except TimeoutError:
            return error
        return self._error

    def _note(self, _: object) -> None:
        """Called whenever the call gets a status; its answers are there already, so nothing waits."""
        details = _at_once(self._call.details())
        if details == _REPLACEMENT or self._has_come.is_set():
            return
        code = _at_once(self._call.code())
        if code.value[0]:
            trailing = _at_once(self._call.trailing_metadata())
            self._error = aio.AioRpcError(code, aio.Metadata(), trailing, details)
        self._has_come.set()


def _at_once(answer: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - of whatever the call is asked for
    try:
        answer.send(None)
    except StopIteration as end:
        return end.value
    answer.close()
    raise RuntimeError("A call that has ended made its status wait.")
