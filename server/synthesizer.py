"""The async front door: text in, events out, admission before and cleanup after. Lives on the event loop.

async with-less use, as the servicer does it:

    speech = await synthesizer.open(config)      # may raise RefusedError, VoiceNotFoundError, InvalidRequestError
    try:
        speech.push_text("Hello, ")              # from the task that reads requests
        speech.flush()                           # speak what is there
        speech.finish()                          # no more text
        async for event in speech.events():      # from the task that writes responses
            ...
    finally:
        speech.close()                           # idempotent; the slot is free at the next step boundary
"""

from collections.abc import AsyncIterator

from server.utterance import Event, UtteranceConfig


class Speech:
    """One utterance being spoken; made by `Synthesizer.open`. All methods belong to the event loop's thread."""

    def push_text(self, text: str) -> None:
        """Take any piece of text, a character or a megabyte.

        Raises:
            TextTooLongError: More text would wait than an utterance may hold.
            OutOfOrderError: `finish` or `cancel` came before.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Speak what is there, even if the sentence is not complete. More text may follow."""
        raise NotImplementedError

    def finish(self) -> None:
        """Speak what is there and end the utterance; `events` ends with `Finished`. Idempotent."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Stop now and drop what is pending; the next event is `Cancelled`, and the last. Idempotent."""
        raise NotImplementedError

    def events(self) -> AsyncIterator[Event]:
        """Yield the events in order, audio no faster than the lead limit allows. One reader only.

        Raises:
            DeadlineExceededError: The deadline of the config came.
            ReaderStalledError: This iterator was not read for too long.
            InvalidRequestError: The text cannot be prepared.
            InternalError: The engine failed on this utterance, or the worker ended.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Give up everything at once, silently. For `finally`: idempotent, never raises, never waits."""
        raise NotImplementedError


class Synthesizer:
    """The one front door of the server; made by `app`."""

    def check(self, config: UtteranceConfig) -> None:
        """Raise what `open` would raise for a config that is wrong, without opening anything.

        Raises:
            VoiceNotFoundError: No voice of that name.
            InvalidRequestError: A field of the config is wrong; `field` says which.
        """
        raise NotImplementedError

    async def open(self, config: UtteranceConfig) -> Speech:
        """Admit an utterance, or refuse it; waits only if the config has a queue timeout.

        Raises:
            RefusedError: No place (`ServerFullError`, `QueueFullError`, `QueueTimeoutError`, `DrainingError`).
            DeadlineExceededError: The deadline came while waiting.
            VoiceNotFoundError, InvalidRequestError: As `check`.
        """
        raise NotImplementedError

    @property
    def is_healthy(self) -> bool:
        """Whether the model thread is alive and nobody is draining."""
        raise NotImplementedError

    async def drain(self) -> None:
        """Refuse new utterances from now on and return when the last running one has ended."""
        raise NotImplementedError

    async def stop(self) -> None:
        """End the model thread; whatever still runs fails with `WorkerStoppedError`."""
        raise NotImplementedError
