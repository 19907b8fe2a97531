"""What a manifest must fulfil beyond the types of its fields: values that have to agree with each other."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from trt_engines.errors import ManifestError
from trt_engines.manifest import Manifest

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_RESERVED = re.compile(r"[kv]_\d+|row_ids|position|active|prompt|prompt_count|params|random|frame|emit|done")


def check_manifest(manifest: Manifest, file: Path) -> None:
    """Check that the values of a manifest agree.

    Args:
        manifest: The manifest.
        file: Where it came from, for the error.

    Raises:
        ManifestError: They do not; names the file, the field, its value and the remedy.
    """
    for check in (_row, _step, _state, _vocode, _reference, _files):
        for sentence in check(manifest):
            raise ManifestError(f"{file}: {sentence} Correct it, or rebuild the bundle with `python -m build_engines`.")


def _row(manifest: Manifest) -> Iterator[str]:
    columns, pointer = manifest.row.columns, manifest.row.pointer_column
    if not columns or len(set(columns)) < len(columns):
        yield f"`row.columns` is {list(columns)} but must name at least one column and each once."
    if pointer is not None and pointer >= len(columns):
        yield f"`row.pointer_column` is {pointer} but must be null or below the number of columns, {len(columns)}."
    if pointer is None and manifest.capabilities.word_times:
        yield "`capabilities.word_times` is true but needs `row.pointer_column`, which is null."
    if not manifest.languages:
        yield "`languages` is [] but must name at least one language."


def _step(manifest: Manifest) -> Iterator[str]:
    step = manifest.step
    if step.min_frames > step.max_frames:
        yield f"`step.min_frames` is {step.min_frames} but must not exceed `step.max_frames`, {step.max_frames}."
    if manifest.prefill.chunk_rows > manifest.max_positions:
        yield (
            f"`prefill.chunk_rows` is {manifest.prefill.chunk_rows} but must not exceed `max_positions`, "
            f"{manifest.max_positions}."
        )
    if len({param.name for param in step.params}) < len(step.params):
        yield f"`step.params` names {[param.name for param in step.params]} but each name may occur once."
    for i, param in enumerate(step.params):
        if not param.min <= param.default <= param.max:
            yield (
                f"`step.params[{i}].default` of {param.name!r} is {param.default:g} but must be between `min`, "
                f"{param.min:g}, and `max`, {param.max:g}."
            )


def _state(manifest: Manifest) -> Iterator[str]:
    names = [state.name for state in manifest.state]
    for i, name in enumerate(names):
        if not name.isidentifier() or _RESERVED.fullmatch(name) or names.index(name) < i:
            yield f"`state[{i}].name` is {name!r} but must be an identifier, not used by another tensor of the graph."


def _vocode(manifest: Manifest) -> Iterator[str]:
    vocode = manifest.vocode
    if vocode.kind == "state" and (vocode.state_width == 0 or vocode.left_frames > 0):
        yield (
            f"`vocode` of kind 'state' has state_width {vocode.state_width} and left_frames {vocode.left_frames} but "
            "needs a state_width above 0 and left_frames 0."
        )
    if vocode.kind == "window" and vocode.state_width > 0:
        yield f"`vocode.state_width` is {vocode.state_width} but must be 0 for the kind 'window'."
    if vocode.kind == "window" and vocode.voice_width > 0:
        yield f"`vocode.voice_width` is {vocode.voice_width} but must be 0 for the kind 'window'."
    if vocode.first_chunk_frames > vocode.chunk_frames:
        yield (
            f"`vocode.first_chunk_frames` is {vocode.first_chunk_frames} but must not exceed `vocode.chunk_frames`, "
            f"{vocode.chunk_frames}."
        )


def _reference(manifest: Manifest) -> Iterator[str]:
    reference = manifest.reference
    if reference is None and manifest.capabilities.clone:
        yield "`capabilities.clone` is true but needs `reference`, which is null."
    if reference is not None and not 0 < reference.min_s < reference.max_s:
        yield (
            f"`reference.min_s` is {reference.min_s:g} but must be above 0 and below `reference.max_s`, "
            f"{reference.max_s:g}."
        )


def _files(manifest: Manifest) -> Iterator[str]:
    for name, value in manifest.hashes.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or str(path) != name or "\\" in name:
            yield f"`hashes` names {name!r} but must name files inside the bundle, with forward slashes."
        if not _HASH.fullmatch(value):
            yield f"`hashes[{name!r}]` is {value!r} but must be 'sha256:' and 64 lower-case hexadecimal digits."
    for name in (*manifest.graph_files, *manifest.frontend.files):
        if name not in manifest.hashes:
            yield f"`hashes` has no entry for {name!r}, which the manifest uses."
