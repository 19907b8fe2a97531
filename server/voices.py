"""The catalogue of voices: which names callers may ask for, and which voice an empty name means.

The voices of a bundle are fixed. Those that callers made come from a store of their own, in which the catalogue looks
for what the bundle does not hold.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from server.errors import VoiceNotFoundError
from server.voice import Gender, Voice
from trt_engines.errors import ManifestError
from trt_engines.manifest import Manifest
from trt_engines.manifest_reading import dataclass_from_json

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LISTED_NAMES = 10


@dataclass(frozen=True)
class _VoiceFile:
    """What `voices/<name>.json` says."""

    name: str
    language_codes: tuple[str, ...]
    gender: Gender
    description: str
    vector: tuple[float, ...] = ()


class VoiceCatalogue:
    """The voices of one bundle.

    Args:
        bundle_dir: Directory of the bundle.
        manifest: Its manifest; the voices are the files it names under `voices/`.
        made: Returns the voices that callers made.

    Raises:
        ManifestError: There is no voice, or a voice file does not say what it must.
    """

    def __init__(self, bundle_dir: Path, manifest: Manifest, made: Callable[[], Iterable[Voice]] = tuple) -> None:
        voices = [_read_voice(bundle_dir / name, manifest) for name in manifest.voice_files]
        if not voices:
            raise ManifestError(f"{bundle_dir}: the bundle has no voice; put at least one file into its `voices/`.")
        self._built_in = {voice.name: voice for voice in sorted(voices, key=lambda voice: voice.name)}
        self._made = made

    @property
    def voices(self) -> tuple[Voice, ...]:
        """All voices, ordered by name."""
        return tuple(voice for _, voice in sorted(self._by_name().items()))

    @property
    def default(self) -> Voice:
        """The voice that an empty name means: the first of the bundle by name."""
        return next(iter(self._built_in.values()))

    def is_built_in(self, name: str) -> bool:
        """Whether a voice of this name came with the bundle."""
        return name in self._built_in

    def get(self, name: str) -> Voice:
        """Return the voice of a name, the default voice for an empty one.

        Raises:
            VoiceNotFoundError: There is none; the sentence suggests the nearest names.
        """
        if not name:
            return self.default
        if (voice := self._by_name().get(name)) is not None:
            return voice
        raise VoiceNotFoundError(f"There is no voice named {name[:64]!r}; {self._suggestion(name)}")

    def _by_name(self) -> dict[str, Voice]:
        """A voice of the bundle wins over one of the same name that a caller once made for another bundle."""
        return {**{voice.name: voice for voice in self._made()}, **self._built_in}

    def _suggestion(self, name: str) -> str:
        voices = sorted(self._by_name())
        near = difflib.get_close_matches(name[:64].lower(), voices, 3, 0.5)
        if near:
            return f"did you mean {' or '.join(map(repr, near))}?"
        listed = ", ".join(map(repr, voices[:_LISTED_NAMES]))
        more = ", and more (see ListVoices)" if len(voices) > _LISTED_NAMES else ""
        return f"this server has {listed}{more}."


def _read_voice(file: Path, manifest: Manifest) -> Voice:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ManifestError(f"{file} cannot be read: {error}. Restore it, or rebuild the bundle.") from error
    voice = dataclass_from_json(_VoiceFile, content, file)
    if voice.name != file.stem or not _NAME.fullmatch(voice.name):
        raise ManifestError(
            f"{file}: `name` is {voice.name!r} but must equal the file's name and hold 1 to 64 of a-z, 0-9, '-', '_'."
        )
    if not voice.language_codes:
        raise ManifestError(f"{file}: `language_codes` is empty; name at least one BCP 47 tag, for example 'en-US'.")
    width = manifest.vocode.voice_width
    if voice.vector and len(voice.vector) != width:
        raise ManifestError(
            f"{file}: `vector` has {len(voice.vector)} numbers, but `vocode.voice_width` of the manifest is {width}. "
            "Rebuild the bundle."
        )
    rate_hz = manifest.audio.sample_rate_hz
    return Voice(voice.name, voice.language_codes, voice.gender, voice.description, rate_hz, vector=voice.vector)
