"""The voices that callers made: a directory each, so that they survive a restart and can be carried elsewhere.

`<root>/<name>/voice.json` says who it is and who allowed it, `references.safetensors` beside it how it sounds. A voice
appears and disappears with one rename of its directory: a crash leaves it whole or not at all.
"""

import dataclasses
import errno
import json
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from server.errors import StorageFailedError, StorageFullError, VoiceExistsError, VoiceNotFoundError
from server.fish_speech.prompt import Reference
from server.fish_speech.voice_prompt import CUSTOM_FILE, write_references
from server.voice import Gender, Voice
from trt_engines.errors import ManifestError
from trt_engines.manifest_reading import dataclass_from_json

_RECORD = "voice.json"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Consent:
    """Permission of the person who is heard."""

    speaker_name: str
    statement: str
    given_s: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class CustomVoice:
    """A voice that a caller made."""

    name: str
    display_name: str
    description: str
    language_codes: tuple[str, ...]
    gender: Gender
    consent: Consent
    created_s: float
    """Seconds since 1970."""

    def as_voice(self, sample_rate_hz: int) -> Voice:
        """Return it as voices are known to the rest of the server."""
        return Voice(
            self.name,
            self.language_codes,
            self.gender,
            self.description,
            sample_rate_hz,
            self.display_name,
            self.created_s,
        )


class VoiceStore:
    """Keeps custom voices in a directory. One process writes to it; its methods block for some milliseconds.

    Args:
        root: The directory; made if it is not there.
        sample_rate_hz: Rate of the bundle that speaks.
    """

    def __init__(self, root: Path, sample_rate_hz: int) -> None:
        self._root = root
        self._sample_rate_hz = sample_rate_hz
        root.mkdir(parents=True, exist_ok=True)
        for leftover in root.glob(".*"):  # of a process that ended in the middle
            shutil.rmtree(leftover, ignore_errors=True)
        self._voices = {path.name: voice for path in sorted(root.iterdir()) if (voice := _read(path / _RECORD))}

    @property
    def voices(self) -> tuple[CustomVoice, ...]:
        """All voices, ordered by name."""
        return tuple(self._voices[name] for name in sorted(self._voices))

    def spoken(self) -> tuple[Voice, ...]:
        """Return all voices as the rest of the server knows them."""
        return tuple(voice.as_voice(self._sample_rate_hz) for voice in self.voices)

    def find(self, name: str) -> CustomVoice | None:
        """Return the voice of a name, if there is one."""
        return self._voices.get(name)

    def add(self, voice: CustomVoice, references: Sequence[Reference]) -> None:
        """Keep a new voice.

        Raises:
            VoiceExistsError: The name is taken.
            StorageFullError: There is no room for it.
            StorageFailedError: It cannot be written.
        """
        scratch = self._root / f".new-{secrets.token_hex(8)}"
        try:
            scratch.mkdir()
            record = json.dumps(dataclasses.asdict(voice), indent=2, ensure_ascii=False)
            (scratch / _RECORD).write_text(f"{record}\n", "utf-8")
            write_references(scratch / CUSTOM_FILE, references)
            if (self._root / voice.name).exists():
                raise taken(voice.name)
            scratch.rename(self._root / voice.name)
        except OSError as error:
            raise _storage_error(f"Voice {voice.name!r} cannot be kept", error) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._voices[voice.name] = voice

    def remove(self, name: str) -> None:
        """Forget a voice for good.

        Raises:
            VoiceNotFoundError: No custom voice has this name.
            StorageFailedError: It cannot be deleted, and can still speak.
        """
        scratch = self._root / f".old-{secrets.token_hex(8)}"
        if name in self._voices:
            try:
                (self._root / name).rename(scratch)
            except FileNotFoundError:
                _log.warning("a custom voice was gone before it was deleted", voice=name)
            except OSError as error:
                raise _storage_error(f"Voice {name!r} cannot be deleted", error) from error
        if self._voices.pop(name, None) is None:
            raise VoiceNotFoundError(
                f"There is no custom voice named {name[:64]!r}; only voices made with CreateVoice can be deleted."
            )
        shutil.rmtree(scratch, ignore_errors=True)


def taken(name: str) -> VoiceExistsError:
    """Return what is raised for a name that another voice has."""
    return VoiceExistsError(f"There is a voice named {name!r} already; delete it first, or choose another name.")


def _storage_error(fact: str, error: OSError) -> StorageFullError | StorageFailedError:
    """Log what is wrong where voices are kept, and return what the caller is told."""
    _log.error("storage failed", error=error.strerror, file=error.filename)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFullError(f"{fact}: there is no room for it on the server. Delete voices, or ask its operator.")
    return StorageFailedError(f"{fact}: {error.strerror}. This is an error of the server; tell its operator.")


def _read(path: Path) -> CustomVoice | None:
    """Return the voice of a record; one that cannot be read is logged and left alone, and the others still speak."""
    try:
        voice = dataclass_from_json(CustomVoice, json.loads(path.read_text("utf-8")), path)
    except (OSError, ValueError, ManifestError) as error:
        _log.warning("a custom voice cannot be read", file=str(path), reason=str(error))
        return None
    return voice if voice.name == path.parent.name and (path.parent / CUSTOM_FILE).is_file() else None
