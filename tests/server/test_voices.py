"""The catalogue of voices of a bundle."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from build_engines.tiny import make_tiny_bundle
from server.errors import VoiceNotFoundError
from server.voice import Voice
from server.voices import VoiceCatalogue
from trt_engines.errors import ManifestError
from trt_engines.manifest import Manifest

Catalogue = Callable[..., VoiceCatalogue]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Return the manifest of a bundle without voices."""
    manifest = make_tiny_bundle(tmp_path_factory.mktemp("tiny"))
    hashes = {name: value for name, value in manifest.hashes.items() if not name.startswith("voices/")}
    return dataclasses.replace(manifest, hashes=hashes)


@pytest.fixture
def catalogue(tmp_path: Path, manifest: Manifest) -> Catalogue:
    """Make a catalogue of voice files; what is given replaces what a voice file says."""

    def make(*names: str, **replaced: Any) -> VoiceCatalogue:
        (tmp_path / "voices").mkdir()
        for name in names:
            voice = {"name": name, "language_codes": ["en-US"], "gender": "female", "description": "Calm.", **replaced}
            kept = {key: value for key, value in voice.items() if value is not None}
            (tmp_path / "voices" / f"{name}.json").write_text(json.dumps(kept))
        hashes = {**manifest.hashes, **{f"voices/{name}.json": "sha256:0" for name in names}}
        return VoiceCatalogue(tmp_path, dataclasses.replace(manifest, hashes=hashes))

    return make


def test_voice_by_name(catalogue: Catalogue, manifest: Manifest) -> None:
    """A voice is what its file says, at the rate of its bundle."""
    rate_hz = manifest.audio.sample_rate_hz

    assert catalogue("anna", "bert").get("bert") == Voice("bert", ("en-US",), "female", "Calm.", rate_hz)


def test_vector_of_a_voice(catalogue: Catalogue) -> None:
    """What the vocoder is told of a voice stands in its file."""
    assert catalogue("anna", vector=[1.0, -1, 0, 0.5]).get("anna").vector == (1.0, -1.0, 0.0, 0.5)


def test_empty_name_is_the_default(catalogue: Catalogue) -> None:
    """An empty name means the first voice by name."""
    voices = catalogue("bert", "anna")

    assert voices.get("") == voices.default == voices.get("anna")
    assert [voice.name for voice in voices.voices] == ["anna", "bert"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("ana", "no voice named 'ana'; did you mean 'anna'?"),
        ("ANNA", "did you mean 'anna'?"),
        ("alloy", "this server has 'anna', 'bert'."),
        ("x" * 10_000, f"no voice named '{'x' * 64}'; this server has"),
    ],
)
def test_unknown_voice(catalogue: Catalogue, asked: str, sentence: str) -> None:
    """An unknown name is an error that suggests the nearest names, or lists them."""
    with pytest.raises(VoiceNotFoundError) as error:
        catalogue("anna", "bert").get(asked)

    assert sentence in str(error.value)


def test_long_list_is_cut(catalogue: Catalogue) -> None:
    """Where there are many voices the sentence names some and tells where the others are."""
    with pytest.raises(VoiceNotFoundError, match=r"'v09', and more \(see ListVoices\)\."):
        catalogue(*(f"v{number:02}" for number in range(20))).get("qqq")


@pytest.mark.parametrize(
    ("replaced", "sentence"),
    [
        ({"gender": "robot"}, "`gender` is 'robot' but must be one of 'female', 'male', 'neutral'"),
        ({"name": "bert"}, "`name` is 'bert' but must equal the file's name"),
        ({"language_codes": []}, "`language_codes` is empty"),
        ({"description": None}, "`description` is missing"),
        ({"pitch": 2}, "`pitch` is not a known key"),
        ({"vector": [1.0]}, "`vector` has 1 numbers, but `vocode.voice_width` of the manifest is 4"),
    ],
)
def test_wrong_voice_file(catalogue: Catalogue, replaced: dict[str, object], sentence: str) -> None:
    """A voice file that does not say what it must is refused, with file, field and value."""
    with pytest.raises(ManifestError) as error:
        catalogue("anna", **replaced)

    assert "anna.json" in str(error.value)
    assert sentence in str(error.value)


def test_name_outside_the_alphabet(catalogue: Catalogue) -> None:
    """A voice name holds what the contract allows."""
    with pytest.raises(ManifestError, match="must equal the file's name and hold"):
        catalogue("Anna B")


def test_missing_and_broken_file(tmp_path: Path, manifest: Manifest) -> None:
    """A voice file that is missing or no JSON is refused by name."""
    manifest = dataclasses.replace(manifest, hashes={"voices/anna.json": "sha256:0"})
    with pytest.raises(ManifestError, match=r"anna\.json cannot be read"):
        VoiceCatalogue(tmp_path, manifest)

    (tmp_path / "voices").mkdir()
    (tmp_path / "voices" / "anna.json").write_text("{")
    with pytest.raises(ManifestError, match=r"anna\.json cannot be read"):
        VoiceCatalogue(tmp_path, manifest)


def test_bundle_without_voices(tmp_path: Path, manifest: Manifest) -> None:
    """A bundle must have somebody who speaks."""
    with pytest.raises(ManifestError, match="the bundle has no voice"):
        VoiceCatalogue(tmp_path, manifest)


def test_tiny_bundle(tmp_path: Path) -> None:
    """The voices that the build writes are the voices the server reads."""
    manifest = make_tiny_bundle(tmp_path)

    assert [voice.name for voice in VoiceCatalogue(tmp_path, manifest).voices] == ["tiny", "tiny-two"]
