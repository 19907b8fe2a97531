"""Everything the server refuses or fails with, as one drawn tree. No gRPC here: `interceptors` maps it to statuses.

AntiphonError
├── InvalidRequestError          the caller must change the request
│   ├── InvalidConfigError         a field of the config is missing, unknown or of the wrong kind
│   ├── OutOfRangeError            a number lies outside its limits, or is not a number at all
│   ├── OutOfOrderError            a message came where the protocol does not allow it
│   └── TextTooLongError           more text than an utterance may hold
├── UnauthenticatedError         the caller did not say who it is, or is not known
├── VoiceNotFoundError           no voice of that name
├── VoiceExistsError             a voice of that name is there already
├── VoiceFixedError              the voice came with the server and cannot be deleted
├── FeatureUnavailableError      part of the contract, not built into this server or this voice
├── RefusedError                 come back after `retry_after_s`; nothing was spoken
│   ├── ServerFullError            every place is taken, or the machine could not keep up with one more
│   ├── QueueFullError             the queue was asked for and is full
│   ├── QueueTimeoutError          waited in the queue for as long as was allowed
│   └── DrainingError              the server is about to stop
├── StorageFullError             there is no room on the disk for another voice
├── DeadlineExceededError        the caller's deadline came first
├── IdleTimeoutError             the caller sent nothing for too long
├── ReaderStalledError           the caller stopped reading for too long
├── InternalError                our fault, or the engine's
│   ├── StorageFailedError         a voice cannot be written or deleted where voices are kept
│   ├── EngineFailedError          the network failed on this utterance
│   └── WorkerStoppedError         the model thread is gone; the process must be replaced
└── SettingsError                the server's own settings are wrong; it does not start

Every class carries one UPPER_SNAKE `reason`, a promise to clients. Every message is a sentence: what was wrong, the
value, the limit, the fix. No message ever holds text to be spoken.
"""

from typing import ClassVar


class AntiphonError(Exception):
    """Root of the tree; never raised itself."""

    reason: ClassVar[str] = "UNKNOWN"


class InvalidRequestError(AntiphonError):
    """The request is wrong; sending it again unchanged cannot help.

    Args:
        message: The sentence for the caller.
        field: Path of the offending field as the caller names it, for example `config.seed`; empty when there is none.
    """

    reason = "INVALID_REQUEST"

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class InvalidConfigError(InvalidRequestError):
    """A field of the config is missing, unknown or of the wrong kind."""

    reason = "INVALID_CONFIG"


class OutOfRangeError(InvalidRequestError):
    """A number lies outside its limits, or is not a number at all."""

    reason = "OUT_OF_RANGE"


class OutOfOrderError(InvalidRequestError):
    """A message came where the protocol does not allow it."""

    reason = "OUT_OF_ORDER"


class TextTooLongError(InvalidRequestError):
    """More text than an utterance may hold."""

    reason = "TEXT_TOO_LONG"


class UnauthenticatedError(AntiphonError):
    """The caller did not say who it is, or is not known."""

    reason = "UNAUTHENTICATED"


class VoiceNotFoundError(AntiphonError):
    """No voice of that name."""

    reason = "VOICE_NOT_FOUND"


class VoiceExistsError(AntiphonError):
    """A voice of that name is there already."""

    reason = "VOICE_EXISTS"


class VoiceFixedError(AntiphonError):
    """The voice came with the server and cannot be deleted."""

    reason = "VOICE_FIXED"


class FeatureUnavailableError(AntiphonError):
    """Part of the contract, but not built into this server or this voice."""

    reason = "FEATURE_UNAVAILABLE"


class RefusedError(AntiphonError):
    """The server cannot take the utterance now; nothing of it was spoken.

    Args:
        message: The sentence for the caller.
        retry_after_s: Seconds after which a new attempt is likely to succeed.
    """

    reason = "REFUSED"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFullError(RefusedError):
    """Every place is taken, or the machine could not keep up with one more utterance."""

    reason = "SERVER_FULL"


class QueueFullError(RefusedError):
    """The caller was ready to wait, but the queue is full."""

    reason = "QUEUE_FULL"


class QueueTimeoutError(RefusedError):
    """The utterance waited in the queue for as long as it was allowed to."""

    reason = "QUEUE_TIMEOUT"


class DrainingError(RefusedError):
    """The server finishes what it is speaking and takes nothing new."""

    reason = "DRAINING"


class StorageFullError(AntiphonError):
    """There is no room on the disk for another voice."""

    reason = "STORAGE_FULL"


class DeadlineExceededError(AntiphonError):
    """The caller's deadline came before the end of the utterance."""

    reason = "DEADLINE_EXCEEDED"


class IdleTimeoutError(AntiphonError):
    """The caller sent nothing for so long that its stream was ended."""

    reason = "IDLE_TIMEOUT"


class ReaderStalledError(AntiphonError):
    """The caller took no audio for so long that its place was given up."""

    reason = "READER_STALLED"


class InternalError(AntiphonError):
    """Not the caller's fault."""

    reason = "INTERNAL"


class StorageFailedError(InternalError):
    """A voice cannot be written or deleted where voices are kept."""

    reason = "STORAGE_FAILED"


class EngineFailedError(InternalError):
    """A network failed while it worked on this utterance."""

    reason = "ENGINE_FAILED"


class WorkerStoppedError(InternalError):
    """The model thread has ended; the process must be replaced."""

    reason = "WORKER_STOPPED"


class SettingsError(AntiphonError):
    """The server's own settings are wrong, so it does not start."""

    reason = "BAD_SETTINGS"
