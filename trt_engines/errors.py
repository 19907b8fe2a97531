"""The errors of trt_engines, as a tree. Every message is a sentence: what was wrong, the value, the limit, the fix.

EngineError
├── ManifestError   a bundle does not say, or does not hold, what its manifest promises
├── BackendError    the runtime that a bundle needs is not installed or cannot load it
└── SlotError       one slot failed; the others of the same call are not touched
"""


class EngineError(Exception):
    """Anything that an engine refuses or fails to do."""


class ManifestError(EngineError):
    """A bundle does not match its manifest, or the manifest does not match the schema."""


class BackendError(EngineError):
    """A runtime is missing or refuses a graph."""


class SlotError(EngineError):
    """One slot failed and must be released; returned in place of that slot's result, never raised.

    Attributes:
        slot: The slot that failed.
    """

    def __init__(self, slot: int, message: str) -> None:
        super().__init__(message)
        self.slot = slot
