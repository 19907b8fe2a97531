"""What `antiphon bundle inspect` prints: a bundle's manifest as a table for people."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trt_engines.graph_tensors import GraphSpec, prefill_tensors, reference_tensors, step_tensors, vocode_tensors
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest

Row = tuple[str, ...]

_ITEM_BYTES = {"bool": 1, "float16": 2, "float32": 4, "int32": 4, "int64": 8}


def describe_bundle(bundle_dir: Path) -> str:
    """Check a bundle and describe it.

    Args:
        bundle_dir: The directory of the bundle.

    Returns:
        Several lines of text, the last one without a line break.

    Raises:
        ManifestError: The bundle is not valid; names file, field, value and remedy.
    """
    manifest = load_manifest(bundle_dir)
    sections = {
        "Bundle": _identity(manifest, bundle_dir),
        "Operations": _operations(manifest, bundle_dir),
        "Tensors": _tensors(manifest),
        "Parameters of a request": _params(manifest),
        "Memory of one slot": _memory(manifest),
        "Voices": [(Path(name).stem, name) for name in manifest.voice_files] or [("none", "")],
        "Verification against torch": _verification(manifest),
        "Files": [(name, _size(bundle_dir / name)) for name in sorted(manifest.hashes)],
    }
    return "\n\n".join(f"{title}\n{_table(rows)}" for title, rows in sections.items())


def slot_bytes(manifest: Manifest) -> dict[str, int]:
    """Return the bytes that one slot takes at most: of the KV cache, of the sampler's and of the vocoder's state."""
    states = sum(_ITEM_BYTES[state.dtype] * math.prod(state.shape) for state in manifest.state)
    vocode = manifest.vocode
    window = vocode.left_frames + vocode.lookahead_frames if vocode.kind == "window" else 0
    frames = window * manifest.frame.width * _ITEM_BYTES[manifest.frame.dtype]
    return {
        "kv": manifest.kv.bytes_per_position * manifest.max_positions,
        "sampler": states,
        "vocoder": 4 * vocode.state_width + frames,
    }


def _identity(manifest: Manifest, bundle_dir: Path) -> Sequence[Row]:
    audio, can = manifest.audio, manifest.capabilities
    abilities = [name for name in ("clone", "word_times", "speed") if getattr(can, name)]
    return [
        ("id", manifest.id),
        ("directory", str(bundle_dir)),
        ("family", manifest.family),
        ("licence", manifest.licence),
        ("languages", ", ".join(manifest.languages)),
        ("front end", f"{manifest.frontend.kind} ({', '.join(manifest.frontend.files) or 'no files'})"),
        ("audio", f"{audio.sample_rate_hz} Hz, {audio.samples_per_frame} samples a frame"),
        ("frames", f"{audio.frame_rate_hz:g} a second, {manifest.frame.dtype}[{manifest.frame.width}]"),
        ("row", ", ".join(manifest.row.columns)),
        ("segment", f"{manifest.step.min_frames} to {manifest.step.max_frames} frames, {manifest.max_positions} rows"),
        ("precision", manifest.precision),
        ("capabilities", ", ".join(abilities) or "none"),
    ]


def _operations(manifest: Manifest, bundle_dir: Path) -> Iterator[Row]:
    step, vocode = manifest.step, manifest.vocode
    notes = {
        manifest.prefill.graph: ("prefill", f"at most {manifest.prefill.chunk_rows} rows at once"),
        step.graph: ("step", f"{step.random_columns} random numbers, {len(step.params)} parameters"),
        vocode.graph: (
            "vocode",
            f"kind {vocode.kind}, look-ahead {vocode.lookahead_frames}, left {vocode.left_frames}, chunks of "
            f"{vocode.first_chunk_frames} then {vocode.chunk_frames} frames",
        ),
    }
    if manifest.reference is not None:
        rate = manifest.reference.sample_rate_hz
        notes[manifest.reference.graph] = ("reference", f"{rate} Hz")
    for graph, (name, note) in notes.items():
        yield name, graph, _size(bundle_dir / graph), note


def _tensors(manifest: Manifest) -> Iterator[Row]:
    specs: dict[str, GraphSpec] = {
        "prefill": prefill_tensors(manifest),
        "step": step_tensors(manifest),
        "vocode": vocode_tensors(manifest),
    }
    if manifest.reference is not None:
        specs["reference"] = reference_tensors(manifest)
    for operation, spec in specs.items():
        for role, tensors in (("in", spec.inputs), ("out", spec.outputs)):
            for tensor in tensors:
                if not _is_repeated_cache(tensor.name):
                    yield operation, role, tensor.name, f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"
    yield "", "", f"and k, v of {manifest.kv.layers} layers, k_0 to v_{manifest.kv.layers - 1}"


def _is_repeated_cache(name: str) -> bool:
    """Tell whether a tensor is a cache other than the first: they are all alike."""
    return name.removesuffix("_out")[:2] in ("k_", "v_") and not name.startswith("k_0")


def _params(manifest: Manifest) -> Sequence[Row]:
    params = manifest.step.params
    return [(p.name, f"default {p.default:g}", f"{p.min:g} to {p.max:g}") for p in params] or [("none", "")]


def _memory(manifest: Manifest) -> Iterator[Row]:
    sizes = slot_bytes(manifest)
    position = manifest.kv.bytes_per_position
    yield "KV cache", _bytes(sizes["kv"]), f"at most; {_bytes(position)} a position, grown as needed"
    yield "sampler state", _bytes(sizes["sampler"])
    yield "vocoder state", _bytes(sizes["vocoder"])


def _verification(manifest: Manifest) -> Sequence[Row]:
    return [
        (v.graph, v.backend, v.case, f"error {v.worst_error:.2g}", f"tolerance {v.tolerance:.2g}")
        for v in manifest.verification
    ] or [("none: this bundle was never compared with the network that it was made from", "")]


def _table(rows: Iterable[Row]) -> str:
    lines = list(rows)
    columns = max(len(row) for row in lines)
    widths = [max((len(row[i]) for row in lines if i < len(row) - 1), default=0) for i in range(columns)]
    padded = ("  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)) for row in lines)
    return "\n".join(f"  {line.rstrip()}" for line in padded)


def _size(file: Path) -> str:
    return _bytes(file.stat().st_size)


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
