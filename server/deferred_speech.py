"""One utterance of a stream, which takes text before its turn has come and before the server has a place for it."""

import asyncio
import dataclasses
from collections.abc import Callable

from antiphon.v1 import synthesis_pb2
from server.errors import TextTooLongError
from server.requests import StreamConfig
from server.speech import Speech
from server.synthesizer import Synthesizer

UtteranceEnd = synthesis_pb2.UtteranceFinishReason


class DeferredSpeech:
    """Keeps what a client sends for an utterance until the synthesizer takes it; from then on hands it through.

    Args:
        index: Number of the utterance on its stream.
        config: How to speak it.
        max_characters: Text it may keep while it waits.

    Attributes:
        end: Why its text ended; unspecified as long as more may come.
        is_cancelled: Whether the client gave it up.
    """

    def __init__(self, index: int, config: StreamConfig, max_characters: int) -> None:
        self.index = index
        self.config = config
        self.end: UtteranceEnd = synthesis_pb2.UTTERANCE_FINISH_REASON_UNSPECIFIED
        self.is_cancelled = False
        self._max_characters = max_characters
        self._kept_characters = 0
        self._kept: list[Callable[[Speech], None]] = []
        self._opening: asyncio.Task[Speech] | None = None
        self._speech: Speech | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a place on the server."""
        return self._opening is not None and self._speech is None

    def push_text(self, text: str) -> None:
        """Takes any piece of text.

        Raises:
            TextTooLongError: More text would wait than an utterance may hold.
        """
        if self._speech is None:
            self._kept_characters += len(text)
            if self._kept_characters > self._max_characters:
                raise TextTooLongError(
                    f"{self._kept_characters} characters of text wait to be spoken, more than {self._max_characters}. "
                    "Send the text more slowly, or in several streams.",
                    "text",
                )
        self._do(lambda speech: speech.push_text(text))

    def flush(self) -> None:
        """Asks to speak what is there."""
        self._do(lambda speech: speech.flush())

    def finish(self, end: UtteranceEnd) -> None:
        """Ends its text."""
        self.end = end
        self._do(lambda speech: speech.finish())

    def cancel(self) -> None:
        """Gives it up, wherever it is."""
        self.is_cancelled = True
        if self._speech is not None:
            self._speech.cancel()
        elif self._opening is not None:
            self._opening.cancel()

    async def open(self, synthesizer: Synthesizer, lead_s: float) -> Speech | None:
        """Asks for a place on the server.

        Args:
            synthesizer: Who speaks it.
            lead_s: Audio of the utterances before that the listener has not yet played.

        Returns:
            None if it was given up before there was a place.

        Raises:
            RefusedError, DeadlineExceededError, VoiceNotFoundError, InvalidRequestError: As `Synthesizer.open`.
        """
        if self.is_cancelled:
            return None
        config = dataclasses.replace(self.config.utterance, lead_s=lead_s)
        self._opening = asyncio.create_task(synthesizer.open(config))
        await asyncio.wait([self._opening])
        if self._opening.cancelled():
            return None
        self._speech = self._opening.result()
        self._catch_up(self._speech)
        return self._speech

    def close(self) -> None:
        """Gives everything back. Idempotent; for `finally`."""
        if self._speech is not None:
            self._speech.close()
        elif self._opening is not None and not self._opening.cancel():
            self._opening.add_done_callback(_close_unused)

    def _catch_up(self, speech: Speech) -> None:
        for action in self._kept:
            action(speech)
        self._kept.clear()
        if self.is_cancelled:
            speech.cancel()

    def _do(self, action: Callable[[Speech], None]) -> None:
        if self._speech is None:
            self._kept.append(action)
        else:
            action(self._speech)


def _close_unused(opening: asyncio.Task[Speech]) -> None:
    """A place that was granted to nobody, because the stream ended at the same moment."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
