"""One stream to the server: text out, events in, any number of utterances. Never tries anything again."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from grpc import aio

from antiphon.v1 import synthesis_pb2, text_to_speech_service_pb2
from antiphon_client.call_status import CallStatus
from antiphon_client.errors import StreamEndedError, error_from_rpc
from antiphon_client.events import Event, event_from_proto
from antiphon_client.options import SpeechOptions

Request = text_to_speech_service_pb2.SynthesizeRequest
Response = text_to_speech_service_pb2.SynthesizeResponse
Call = aio.StreamStreamCall[Request, Response]


class Conversation:
    """An open stream; made by `AsyncClient.converse`. One task may send while another reads the events.

        async with client.converse() as conversation:
            await conversation.send_text("Hello ")
            await conversation.send_text("there.")
            await conversation.end_utterance()
            async for event in conversation:
                ...

    Args:
        call: The running call.
        options: How to speak what is sent first.
        request_id: Id of the call in the server's log.
    """

    def __init__(self, call: Call, options: SpeechOptions, request_id: str) -> None:
        self.request_id = request_id
        self._call = call
        self._status = CallStatus(call)
        self._first_config: SpeechOptions | None = options
        self._is_closed = False
        self._writing = asyncio.Lock()

    async def __aenter__(self) -> "Conversation":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def send_text(self, text: str) -> None:
        """Sends any piece of text; an empty one keeps an idle stream alive."""
        await self._send(Request(text=text))

    async def flush(self) -> None:
        """Asks to speak what was sent, also an unfinished sentence. More text may follow."""
        await self._send(Request(flush=synthesis_pb2.Flush()))

    async def end_utterance(self) -> None:
        """Asks to speak what was sent and to report `Finished`. Text that follows is a new utterance."""
        await self._send(Request(flush=synthesis_pb2.Flush(end_utterance=True)))

    async def cancel(self) -> None:
        """Barge-in: stops all speech that was asked for. `Cancelled` comes back, and no audio between."""
        await self._send(Request(cancel=synthesis_pb2.Cancel()))

    async def configure(self, options: SpeechOptions) -> None:
        """Ends the utterance; text that follows is spoken with the new options."""
        await self._send(Request(config=options.to_proto()))

    async def finish(self) -> None:
        """Says that nothing more will be sent. The events go on until all is spoken."""
        await self._send()
        with contextlib.suppress(aio.InternalError):  # the stream has just ended; there is nothing left to close
            await self._call.done_writing()

    def close(self) -> None:
        """Ends the call at once, whatever it is doing. Idempotent."""
        self._is_closed = True
        self._call.cancel()

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        """Yields what the server reports, until all is spoken after `finish`, or until `close`.

        Raises:
            AntiphonError: The stream failed.
        """
        try:
            async for response in self._call:
                event = event_from_proto(response)
                if event is not None:
                    yield event
        except aio.AioRpcError as error:
            true_error = await self._status.true_error(error)
            if true_error is not None:
                raise error_from_rpc(true_error, self.request_id) from error
        except asyncio.CancelledError:
            # gRPC raises this also for a call that `close` ended, where no task was cancelled.
            if not self._is_closed or _is_being_cancelled():
                raise

    async def _send(self, *requests: Request) -> None:
        async with self._writing:  # gRPC takes one write at a time
            if self._first_config is not None:
                requests = (Request(config=self._first_config.to_proto()), *requests)
                self._first_config = None
            for request in requests:
                await self._write(request)

    async def _write(self, request: Request) -> None:
        try:
            await self._call.write(request)
        except (aio.AioRpcError, asyncio.InvalidStateError) as error:
            raise StreamEndedError(
                "The stream has ended, so nothing can be sent on it; reading the events says why."
            ) from error


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
