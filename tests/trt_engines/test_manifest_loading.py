"""Reading a manifest: what is right is read, and whatever is wrong is said in a sentence."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trt_engines.small_bundle import small_manifest
from trt_engines.errors import ManifestError
from trt_engines.manifest_loading import load_manifest, read_manifest
from trt_engines.manifest_writing import write_manifest

Json = dict[str, Any]


@pytest.fixture
def bundle(small_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the small bundle that a test may spoil."""
    return Path(shutil.copytree(small_bundle, tmp_path / "bundle"))


def spoil(bundle: Path, change: Callable[[Json], object]) -> None:
    """Change the JSON of a manifest."""
    value = json.loads((bundle / "manifest.json").read_text())
    change(value)
    (bundle / "manifest.json").write_text(json.dumps(value))


def test_a_good_bundle_loads_as_it_was_written(small_bundle: Path) -> None:
    """Every field comes back as it was written, hashes added."""
    loaded = load_manifest(small_bundle)

    assert small_manifest().step == loaded.step
    assert small_manifest().state == loaded.state
    assert {*loaded.graph_files, "frontend/ids.json", "voices/ida.json"} == set(loaded.hashes)
    assert ("voices/ida.json",) == loaded.voice_files


def test_what_has_a_default_may_be_left_out(bundle: Path) -> None:
    """Manifests from before there was `quality` are read as they were."""
    spoil(bundle, lambda m: m.pop("quality"))

    assert load_manifest(bundle).quality == ()


WRONG: dict[str, tuple[Callable[[Json], object], str]] = {
    "unknown key": (
        lambda m: m["step"].update(max_frame=4),
        r"`step\.max_frame` is not a known key\. Did you mean `max_frames`\? Remove it",
    ),
    "missing key": (lambda m: m["audio"].pop("sample_rate_hz"), r"`audio\.sample_rate_hz` is missing\. Add it"),
    "text for a number": (
        lambda m: m["audio"].update(sample_rate_hz="high"),
        r"`audio\.sample_rate_hz` is 'high' but must be a whole number\. Correct it",
    ),
    "true for a number": (
        lambda m: m.update(max_positions=True),
        r"`max_positions` is True but must be a whole number",
    ),
    "a number for text": (lambda m: m.update(id=7), r"`id` is 7 but must be a string"),
    "not finite": (
        lambda m: m["step"]["params"][0].update(max=float("nan")),
        r"`step\.params\[0\]\.max` is nan but must be a finite number",
    ),
    "zero layers": (lambda m: m["kv"].update(layers=0), r"`kv\.layers` is 0 but must be at least 1"),
    "unknown choice": (
        lambda m: m["vocode"].update(kind="magic"),
        r"`vocode\.kind` is 'magic' but must be one of 'state', 'window'",
    ),
    "object for a list": (lambda m: m.update(state={}), r"`state` is \{\} but must be a list"),
    "list for an object": (lambda m: m.update(kv=[]), r"`kv` is \[\] but must be an object"),
    "list for a mapping": (lambda m: m.update(hashes=[]), r"`hashes` is \[\] but must be an object"),
    "other version": (lambda m: m.update(schema_version=2), r"`schema_version` is 2 but .* reads 1\. Use a bundle"),
    "repeated column": (lambda m: m["row"].update(columns=["a", "a"]), r"`row\.columns` is \['a', 'a'\]"),
    "pointer outside": (lambda m: m["row"].update(pointer_column=2), r"`row\.pointer_column` is 2 but must be null or"),
    "word times without pointer": (lambda m: m["row"].update(pointer_column=None), r"`capabilities\.word_times`"),
    "no language": (lambda m: m.update(languages=[]), r"`languages` is \[\]"),
    "frames crossed": (lambda m: m["step"].update(min_frames=301), r"`step\.min_frames` is 301 but must not exceed"),
    "chunk too long": (lambda m: m["prefill"].update(chunk_rows=401), r"`prefill\.chunk_rows` is 401"),
    "parameter out of range": (lambda m: m["step"]["params"][0].update(default=11), r"`step\.params\[0\]\.default`"),
    "parameter twice": (lambda m: m["step"]["params"].append(m["step"]["params"][0]), r"`step\.params` names"),
    "state named like a cache": (lambda m: m["state"][0].update(name="k_0"), r"`state\[0\]\.name` is 'k_0'"),
    "state without width": (lambda m: m["vocode"].update(state_width=0), r"`vocode` of kind 'state' has state_width 0"),
    "window with state": (lambda m: m["vocode"].update(kind="window"), r"`vocode\.state_width` is 66 but must be 0"),
    "chunks shrink": (lambda m: m["vocode"].update(first_chunk_frames=9), r"`vocode\.first_chunk_frames` is 9"),
    "clone without reference": (lambda m: m["capabilities"].update(clone=True), r"`capabilities\.clone` is true"),
    "reference too short": (
        lambda m: m.update(
            reference={
                "graph": "graphs/step.onnx",
                "sample_rate_hz": 16000,
                "min_s": 3,
                "max_s": 2,
                "needs_transcript": True,
            }
        ),
        r"`reference\.min_s` is 3 but must be above 0 and below",
    ),
    "path outside": (
        lambda m: m["hashes"].update({"../x": "sha256:" + "0" * 64}),
        r"`hashes` names '\.\./x' but must name files inside",
    ),
    "bad hash": (lambda m: m["hashes"].update({"graphs/step.onnx": "md5:1"}), r"is 'md5:1' but must be 'sha256:'"),
    "hash missing": (lambda m: m["hashes"].pop("frontend/ids.json"), r"no entry for 'frontend/ids\.json'"),
    "file missing": (
        lambda m: m["hashes"].update({"voices/bo.json": "sha256:" + "0" * 64}),
        r"names 'voices/bo\.json' but .* does not exist\. Restore the file",
    ),
    "directory for a file": (
        lambda m: m["hashes"].update({"voices": "sha256:" + "0" * 64}),
        r"names 'voices' but .* cannot be read",
    ),
    "other content": (
        lambda m: m["hashes"].update({"voices/ida.json": "sha256:" + "0" * 64}),
        r"`hashes\['voices/ida\.json'\]` is sha256:0+ but the file has sha256:.* Restore it",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_whatever_is_wrong_is_said_in_a_sentence(bundle: Path, case: str) -> None:
    """The error names the manifest, the field, its value and what to do."""
    change, sentence = WRONG[case]
    spoil(bundle, change)

    with pytest.raises(ManifestError, match=sentence) as caught:
        load_manifest(bundle)

    assert str(caught.value).startswith(str(bundle / "manifest.json"))
    assert re.search(r"(Correct|Restore|Remove|Add|Use|Make) ", str(caught.value))


def test_a_directory_without_manifest_is_no_bundle(tmp_path: Path) -> None:
    """The error says what to give instead."""
    with pytest.raises(ManifestError, match=r"is not a voice bundle\. Give the directory of a bundle"):
        load_manifest(tmp_path)


@pytest.mark.parametrize("text", ["{", "\xff", '{"schema_version": NaN'])
def test_broken_json_is_said_to_be_broken(tmp_path: Path, text: str) -> None:
    """The error quotes the parser."""
    (tmp_path / "manifest.json").write_text(text, "latin-1")

    with pytest.raises(ManifestError, match=r"cannot be read as JSON: .* Restore or rebuild"):
        read_manifest(tmp_path / "manifest.json")


def test_json_that_is_no_object_has_no_version(tmp_path: Path) -> None:
    """A list is refused like a manifest of another version."""
    (tmp_path / "manifest.json").write_text("[]")

    with pytest.raises(ManifestError, match="`schema_version` is None"):
        read_manifest(tmp_path / "manifest.json")


def test_documents_may_be_edited(bundle: Path) -> None:
    """A model card has no hash."""
    (bundle / "MODEL_CARD.md").write_text("about")

    write_manifest(bundle, small_manifest())
    (bundle / "MODEL_CARD.md").write_text("more about")

    assert "MODEL_CARD.md" not in load_manifest(bundle).hashes


def test_writing_a_wrong_manifest_fails(bundle: Path) -> None:
    """What would not load is found when it is written."""
    (bundle / "graphs" / "step.onnx").unlink()

    with pytest.raises(ManifestError, match=r"no entry for 'graphs/step\.onnx'"):
        write_manifest(bundle, small_manifest())
