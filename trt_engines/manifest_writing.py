"""Writing `manifest.json`, hashes included."""

import dataclasses
import json
from pathlib import Path

from trt_engines.manifest import MANIFEST_NAME, Manifest
from trt_engines.manifest_loading import file_hash, load_manifest

# What runs or proves. Documents may be edited, and plans are built where they run.
HASHED_DIRECTORIES = ("frontend", "golden", "graphs", "voices")


def write_manifest(bundle_dir: Path, manifest: Manifest) -> Manifest:
    """Write the manifest of a bundle whose other files are all in place, and read it back.

    Args:
        bundle_dir: The directory of the bundle.
        manifest: What to write; its `hashes` are replaced by those of all files in HASHED_DIRECTORIES.

    Returns:
        The manifest with its hashes.

    Raises:
        ManifestError: It would not load.
    """
    paths = sorted(path for name in HASHED_DIRECTORIES for path in (bundle_dir / name).rglob("*") if path.is_file())
    hashes = {path.relative_to(bundle_dir).as_posix(): file_hash(path) for path in paths}
    complete = dataclasses.replace(manifest, hashes=hashes)
    text = json.dumps(dataclasses.asdict(complete), indent=2, ensure_ascii=False)
    (bundle_dir / MANIFEST_NAME).write_text(f"{text}\n", "utf-8")
    return load_manifest(bundle_dir)
