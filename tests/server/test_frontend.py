"""The front end that a bundle asks for."""

import dataclasses
from pathlib import Path

import pytest

from build_engines.tiny import make_tiny_bundle
from server.frontend import load_frontend
from server.voices import VoiceCatalogue
from trt_engines.errors import ManifestError


def test_front_end_of_the_tiny_bundle(tmp_path: Path) -> None:
    """The front end of a bundle speaks with the voices of the bundle."""
    manifest = make_tiny_bundle(tmp_path)
    voice = VoiceCatalogue(tmp_path, manifest).default

    (segment,) = load_frontend(tmp_path, manifest).prepare("Hello.", voice)

    assert [word.text for word in segment.words] == ["Hello"]
    assert segment.row_ids.shape[1] == len(manifest.row.columns)


def test_unknown_kind(tmp_path: Path) -> None:
    """A front end that the server does not have is refused by name."""
    manifest = make_tiny_bundle(tmp_path)
    spec = dataclasses.replace(manifest.frontend, kind="mind_reading")

    with pytest.raises(ManifestError, match=r"`frontend\.kind` is 'mind_reading', but this server has only 'phonemes'"):
        load_frontend(tmp_path, dataclasses.replace(manifest, frontend=spec))
