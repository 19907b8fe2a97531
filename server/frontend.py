"""The front end: segments of text to rows for the talker. Which one a bundle needs, its manifest says."""

from pathlib import Path
from typing import Protocol

from server.config import SegmentSettings
from server.phonemes.phoneme_frontend import PhonemeFrontend
from server.prepared_segment import PreparedSegment
from server.voice import Voice
from trt_engines.errors import BackendError, ManifestError
from trt_engines.manifest import MANIFEST_NAME, Manifest


class Cutter(Protocol):
    """Anything that cuts the arriving text of one utterance into segments.

    The segments, joined, are the text pushed so far, minus what is still held. Where it cuts depends on the text and on
    the places of the flushes, never on how the text was split into messages. The work is linear in the text.
    """

    def push(self, text: str) -> list[str]:
        """Take any piece of text; return the segments it completes."""
        ...

    def flush(self) -> list[str]:
        """Return what is held as segments, whether its sentence is complete or not; blank text stays held."""
        ...


class Frontend(Protocol):
    """Anything that prepares text for the talker of one bundle; called from several threads at once."""

    def cutter(self) -> Cutter:
        """Return what cuts the text of one utterance."""
        ...

    def prepare(self, text: str, voice: Voice) -> tuple[PreparedSegment, ...]:
        """Turn a segment of text into one prepared segment, or into several where it does not fit into one.

        The texts of the prepared segments, joined, are the text. A part with nothing to speak has no rows.

        Args:
            text: A segment as the cutter gives it; any text is accepted.
            voice: Who shall speak.
        """
        ...


def load_frontend(
    bundle_dir: Path, manifest: Manifest, custom_dir: Path | None = None, segments: SegmentSettings | None = None
) -> Frontend:
    """Load the front end of a bundle, ready for its first sentence; takes up to a second.

    Args:
        bundle_dir: The bundle.
        manifest: Its manifest.
        custom_dir: Where voices that callers made lie, in a bundle that clones.
        segments: Where to cut, for a bundle that counts bytes; None takes the defaults.

    Raises:
        ManifestError: The front end is of an unknown kind, or its files are not what it needs.
        BackendError: The front end needs an extra that is not installed.
    """
    kind = manifest.frontend.kind
    if kind == "phonemes":
        return PhonemeFrontend(bundle_dir, manifest)
    if kind == "fish_speech":
        return _fish_frontend(bundle_dir, manifest, custom_dir, segments)
    raise ManifestError(
        f"{bundle_dir / MANIFEST_NAME}: `frontend.kind` is {kind!r}, but this server has only 'phonemes' and "
        "'fish_speech'; use another bundle or a newer server."
    )


def _fish_frontend(
    bundle_dir: Path, manifest: Manifest, custom_dir: Path | None, segments: SegmentSettings | None
) -> Frontend:
    try:  # only now: the voice that ships needs none of what this imports
        from server.fish_speech.frontend import load_fish_frontend
    except ModuleNotFoundError as error:
        raise BackendError(
            f"{bundle_dir} needs {error.name}, which is not installed. Install it: `pip install 'antiphon[fish]'`."
        ) from error
    return load_fish_frontend(bundle_dir, manifest, custom_dir, segments)
