"""Rows for the talker: phonemes, words, the end of a segment, segments that are too long."""

# ruff: noqa: RUF001  (phonemes look like other signs)
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hibari import Hibari
from hypothesis import given, settings
from hypothesis import strategies as st

from server.phonemes.phoneme_frontend import PhonemeFrontend
from server.prepared_segment import PreparedSegment
from server.voice import Voice
from trt_engines.errors import ManifestError
from trt_engines.manifest import Manifest

_MAX_PHONEMES = 128


@pytest.fixture(scope="module")
def symbols(bundle_dir: Path) -> dict[int, str]:
    """Return the phonemes by their ids."""
    inventory = json.loads((bundle_dir / "frontend" / "phonemes.json").read_text("utf-8"))
    return {number: symbol for symbol, number in inventory["vocab"].items()}


def phonemes_of(segment: PreparedSegment, symbols: dict[int, str]) -> str:
    """Return the phonemes between the pads."""
    return "".join(symbols[number] for number in segment.row_ids[1:-2, 0].tolist())


def test_rows_of_a_sentence(frontend: PhonemeFrontend, voice: Voice) -> None:
    """A pad, the teacher's phonemes, a pad, each alone in its row; last the row of the frame before the first."""
    (segment,) = frontend.prepare("Hello there.", voice)

    ids = Hibari().ids("həlˈO ðˈɛɹ.")
    assert segment.row_ids.dtype == np.int32
    assert segment.row_ids[:-1, 0].tolist() == ids
    assert (segment.row_ids[:-1, 1:] == -1).all()
    assert segment.row_ids[-1].tolist() == [-1, 5, 0, 0, 0, 0, 0, 0]


def test_words_point_to_their_rows(frontend: PhonemeFrontend, voice: Voice, symbols: dict[int, str]) -> None:
    """The rows of a word hold its sounds, without the punctuation and spaces around them."""
    (segment,) = frontend.prepare('"Hello," (he said)', voice)

    rows = [symbols.get(number, "_") for number in segment.row_ids[:, 0].tolist()]
    assert [("".join(rows[word.first_row : word.end_row]), word.text) for word in segment.words] == [
        ("həlˈO", "Hello"),
        ("hi", "he"),
        ("sˈɛd", "said"),
    ]
    assert all(segment.text[word.char_start : word.char_end] == word.text for word in segment.words)


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("Is it late?", "lˈAt?"),
        ("It is late", "lˈAt."),
        ("It is late ", "lˈAt,"),
        ("It is late, ", "lˈAt,"),
        ("It is late:", "lˈAt,"),
        ("It is late\n", "lˈAt."),
        ("“It is late.”", "lˈAt."),
        ("It is late (very).", "vˈɛɹi."),
        ("At 8 p.m.", "pˌiˈɛm."),
        ("It is late! 😀", "lˈAt!"),
        ("It is late 😀 ", "lˈAt,"),
    ],
)
def test_end_of_segment(
    frontend: PhonemeFrontend, voice: Voice, symbols: dict[int, str], text: str, ending: str
) -> None:
    """A segment ends as a sentence does, or in a pause where white space tells that the sentence goes on."""
    (segment,) = frontend.prepare(text, voice)

    assert phonemes_of(segment, symbols).endswith(ending)


def test_voice_without_pauses(bundle_dir: Path, manifest: Manifest, voice: Voice, tmp_path: Path) -> None:
    """A voice that never learned open clauses ends every segment as a sentence."""
    shutil.copytree(bundle_dir, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "frontend" / "phonemes.json"
    inventory = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**inventory, "ends_with_pause": False}), "utf-8")

    (segment,) = PhonemeFrontend(tmp_path, manifest).prepare("It is late, ", voice)

    assert segment.row_ids[-3, 0] == inventory["vocab"]["."]


@pytest.mark.parametrize("text", ["😀", "你好", "...", " \n", "", "<b>", "**"])
def test_nothing_to_speak(frontend: PhonemeFrontend, voice: Voice, text: str) -> None:
    """Without a sound there are no rows, but a report of what was left out."""
    (segment,) = frontend.prepare(text, voice)

    assert segment.row_ids.shape == (0, 8)
    assert (segment.text, segment.words, segment.max_frames) == (text, (), 0)
    assert segment.unspoken == ((text,) if text in ("😀", "你好", "<b>") else ())


def test_guard_against_running_away(frontend: PhonemeFrontend, voice: Voice, manifest: Manifest) -> None:
    """The frames allowed grow by 0.2 s with each phoneme, up to what the talker can hold."""
    (short,) = frontend.prepare("Yes.", voice)
    (long,) = frontend.prepare("word " * 20, voice)

    phoneme_count = len(short.row_ids) - 3
    assert short.max_frames == 16 + round(0.2 * phoneme_count * manifest.audio.frame_rate_hz)
    assert long.max_frames == manifest.step.max_frames


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("word " * 40, ["word " * 21, "word " * 19]),
        ("word " * 10 + "word, " + "word " * 20, ["word " * 10 + "word, ", "word " * 20]),
        ("$1,234,567.89 (and) $9,876,543.21.", ["$1,234,567.89 (and) ", "$9,876,543.21."]),
    ],
)
def test_too_long_segment(frontend: PhonemeFrontend, voice: Voice, text: str, parts: list[str]) -> None:
    """A segment with too many phonemes becomes several, parted behind a pause or between words."""
    segments = frontend.prepare(text, voice)

    assert [segment.text for segment in segments] == parts


def test_endless_word(frontend: PhonemeFrontend, voice: Voice) -> None:
    """A word with too many phonemes is parted as well; nothing of it is lost."""
    text = "1234567890" * 20

    segments = frontend.prepare(text, voice)

    assert len(segments) > 1
    assert "".join(word.text for segment in segments for word in segment.words) == text


@given(st.text(max_size=200) | st.text("ab1 .,$5:-'()\n😀", max_size=200))
@settings(deadline=None, max_examples=60)
def test_any_text(frontend: PhonemeFrontend, voice: Voice, text: str) -> None:
    """Any text becomes segments that fit, join to the text, and have words in order."""
    segments = frontend.prepare(text, voice)

    assert "".join(segment.text for segment in segments) == text
    for segment in segments:
        assert len(segment.row_ids) <= _MAX_PHONEMES + 3
        places = [edge for word in segment.words for edge in (word.char_start, word.char_end)]
        rows = [edge for word in segment.words for edge in (word.first_row, word.end_row)]
        assert places == sorted(places)
        assert [0, *rows, max(len(segment.row_ids) - 2, 0)] == sorted([0, *rows, max(len(segment.row_ids) - 2, 0)])


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("languages", ("en-US", "de-DE"), "`languages` names 'de-DE', but the front end 'phonemes' reads English only"),
        ("max_positions", 131, "`max_positions` is 131, but a segment of 128 phonemes needs at least 132"),
    ],
)
def test_bundle_that_does_not_fit(bundle_dir: Path, manifest: Manifest, field: str, value: Any, sentence: str) -> None:
    """A bundle that the front end cannot serve is refused at the start, with the reason."""
    with pytest.raises(ManifestError, match=sentence):
        PhonemeFrontend(bundle_dir, dataclasses.replace(manifest, **{field: value}))


def test_other_rows(bundle_dir: Path, manifest: Manifest) -> None:
    """Rows of another family are refused by name."""
    row = dataclasses.replace(manifest.row, columns=("token", "c0", "c1", "c2"))

    with pytest.raises(ManifestError, match=r"`row\.columns` begins with token, c0, c1, c2, but"):
        PhonemeFrontend(bundle_dir, dataclasses.replace(manifest, row=row))


def test_other_files(bundle_dir: Path, manifest: Manifest) -> None:
    """The front end has exactly one file."""
    spec = dataclasses.replace(manifest.frontend, files=())

    with pytest.raises(ManifestError, match=r"`frontend\.files` names 0 files"):
        PhonemeFrontend(bundle_dir, dataclasses.replace(manifest, frontend=spec))


@pytest.mark.parametrize(("text", "frames"), [("Hello there.", 30), ("Hello there, ", 15)])
def test_closing_pause(frontend: PhonemeFrontend, voice: Voice, text: str, frames: int) -> None:
    """Behind the last word a sentence may be silent for 0.3 s, a clause for half as long (tiny frames last 10 ms)."""
    (segment,) = frontend.prepare(text, voice)

    assert segment.closing_pause is not None
    assert segment.closing_pause.first_row == segment.words[-1].end_row
    assert segment.closing_pause.max_frames == frames
    assert segment.closing_pause.sound_frames == 35
