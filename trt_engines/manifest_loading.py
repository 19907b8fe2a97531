"""Reading `manifest.json` of a bundle and checking that the bundle holds what it promises."""

import hashlib
import json
from pathlib import Path

from trt_engines.errors import ManifestError
from trt_engines.manifest import MANIFEST_NAME, SCHEMA_VERSION, Manifest
from trt_engines.manifest_checks import check_manifest
from trt_engines.manifest_reading import dataclass_from_json


def load_manifest(bundle_dir: Path) -> Manifest:
    """Read the manifest of a bundle and check every file that it names against its hash.

    Args:
        bundle_dir: The directory of the bundle.

    Raises:
        ManifestError: The manifest is missing, is not valid, or does not match the files; says how to mend it.
    """
    file = bundle_dir / MANIFEST_NAME
    manifest = read_manifest(file)
    for name, expected in manifest.hashes.items():
        _check_hash(bundle_dir / name, file, name, expected)
    return manifest


def read_manifest(file: Path) -> Manifest:
    """Read and check a `manifest.json` by itself, without the other files of its bundle.

    Raises:
        ManifestError: It is missing or not valid.
    """
    value = _parsed(file)
    version = value.get("schema_version") if isinstance(value, dict) else None
    if version != SCHEMA_VERSION:
        raise ManifestError(
            f"{file}: `schema_version` is {version!r} but this version of Antiphon reads {SCHEMA_VERSION}. "
            "Use a bundle of this version, or rebuild it with `python -m build_engines`."
        )
    manifest = dataclass_from_json(Manifest, value, file)
    check_manifest(manifest, file)
    return manifest


def file_hash(file: Path) -> str:
    """Return 'sha256:' and the hexadecimal digest of a file."""
    with file.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _parsed(file: Path) -> object:
    try:
        return json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise ManifestError(
            f"{file} does not exist, so {file.parent} is not a voice bundle. Give the directory of a bundle, such as "
            "voices/default, or make one with `python -m build_engines`."
        ) from None
    except (OSError, ValueError) as error:
        raise ManifestError(f"{file} cannot be read as JSON: {error}. Restore or rebuild the bundle.") from error


def _check_hash(path: Path, file: Path, name: str, expected: str) -> None:
    try:
        actual = file_hash(path)
    except FileNotFoundError:
        raise ManifestError(
            f"{file}: `hashes` names {name!r} but {path} does not exist. Restore the file or rebuild the bundle."
        ) from None
    except OSError as error:
        raise ManifestError(
            f"{file}: `hashes` names {name!r} but {path} cannot be read: {error}. Make it a readable file."
        ) from error
    if actual != expected:
        raise ManifestError(
            f"{file}: `hashes[{name!r}]` is {expected} but the file has {actual}: it was changed or is incomplete. "
            "Restore it (with Git LFS, run `git lfs pull`), or rebuild the bundle with `python -m build_engines`."
        )
