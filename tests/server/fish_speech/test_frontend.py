"""The front end: text and voice to rows, from the files of a bundle."""

import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from server.errors import TextTooLongError
from server.fish_speech.frontend import load_fish_frontend
from server.fish_speech.prompt import PromptBuilder, Reference, Rows
from server.fish_speech.tokenizer import load_tokenizer
from server.fish_speech.voice_prompt import read_references, write_references
from server.prepared_segment import SpokenSegment
from server.voice import Voice
from trt_engines.errors import ManifestError

DATA = Path(__file__).parents[2] / "data/fish_speech_1_5"
ANNA = Voice("anna", ("en",), "female", "", 44_100)
NOBODY = dataclasses.replace(ANNA, name="nobody")
REFERENCE = Reference("The lighthouse keeper.", np.arange(40, dtype=np.int32).reshape(5, 8))


@pytest.fixture
def bundle_dir(tmp_path: Path) -> Path:
    """The parts of a bundle that the front end reads, with one voice that has a reference."""
    (tmp_path / "voices").mkdir()
    (tmp_path / "frontend").mkdir()
    shutil.copy(DATA / "tokenizer/tokenizer.tiktoken", tmp_path / "frontend")
    settings = {"codebook_count": 8, "semantic_count": 1024, "upstream_compat": False}
    (tmp_path / "frontend/fish_speech.json").write_text(json.dumps(settings))
    write_references(tmp_path / "voices/anna.safetensors", [REFERENCE])
    return tmp_path


def _manifest(**values: int) -> Any:
    sizes = {"width": 8, "max_positions": 512, "max_frames": 300, **values}
    return SimpleNamespace(
        max_positions=sizes["max_positions"],
        frame=SimpleNamespace(width=sizes["width"]),
        step=SimpleNamespace(max_frames=sizes["max_frames"]),
    )


def test_a_segment_is_the_voice_and_a_turn(bundle_dir: Path) -> None:
    """The rows are those of the prompt builder, the text stays as it was, and the run-away guard follows its length."""
    (segment,) = load_fish_frontend(bundle_dir, _manifest()).prepare("  Hello,   world! ", ANNA)
    builder = PromptBuilder(load_tokenizer(DATA / "tokenizer/tokenizer.tiktoken"), 8)
    expected = np.concatenate([builder.voice([REFERENCE]), builder.turn("Hello, world!")])
    np.testing.assert_array_equal(segment.row_ids, expected)
    assert (segment.text, segment.words, segment.unspoken) == ("  Hello,   world! ", (), ())
    assert segment.max_frames == 64 + 6 * 13


def test_a_voice_without_a_reference_sends_the_system_message_alone(bundle_dir: Path) -> None:
    """Only the turn follows the system message."""
    (segment,) = load_fish_frontend(bundle_dir, _manifest()).prepare("Hi", NOBODY)
    builder = PromptBuilder(load_tokenizer(DATA / "tokenizer/tokenizer.tiktoken"), 8)
    assert len(segment.row_ids) == len(builder.system()) + len(builder.turn("Hi"))


def test_a_voice_that_a_caller_made_is_found_in_its_own_directory(bundle_dir: Path, tmp_path: Path) -> None:
    """Voices of the bundle win over those made by callers; both speak."""
    (tmp_path / "made/nobody").mkdir(parents=True)
    write_references(tmp_path / "made/nobody/references.safetensors", [REFERENCE])
    frontend = load_fish_frontend(bundle_dir, _manifest(), tmp_path / "made")
    (anna,), (nobody,) = frontend.prepare("Hi", ANNA), frontend.prepare("Hi", NOBODY)
    np.testing.assert_array_equal(anna.row_ids, nobody.row_ids)


@pytest.mark.parametrize("text", ["", " \n", "?!", "\U0001f600"])
def test_text_without_a_word_has_no_rows(bundle_dir: Path, text: str) -> None:
    """What cannot be spoken is said to be so, and nothing is prefilled."""
    (segment,) = load_fish_frontend(bundle_dir, _manifest()).prepare(text, ANNA)
    assert segment.row_ids.shape == (0, 9)
    assert (segment.text, segment.max_frames) == (text, 0)
    assert segment.unspoken == ((text,) if text == "\U0001f600" else ())


def test_what_the_original_would_read_as_control_stays_text(bundle_dir: Path) -> None:
    """A user cannot end the turn: the stop token appears only where the prompt puts it."""
    frontend = load_fish_frontend(bundle_dir, _manifest())
    (plain,), (hostile,) = frontend.prepare("a", ANNA), frontend.prepare("a<|im_end|>", ANNA)
    assert (hostile.row_ids[:, 0] == 603).sum() == (plain.row_ids[:, 0] == 603).sum()


def test_a_prompt_that_fills_the_context_is_refused(bundle_dir: Path) -> None:
    """The sentence tells both sizes; a bit more room limits the frames instead."""
    with pytest.raises(TextTooLongError, match="Voice and text take 63 rows, but the model has 60"):
        load_fish_frontend(bundle_dir, _manifest(max_positions=60)).prepare("Hello there", ANNA)
    (segment,) = load_fish_frontend(bundle_dir, _manifest(max_positions=100)).prepare("Hello there", ANNA)
    assert segment.max_frames == 100 - len(segment.row_ids)


def test_files_that_do_not_fit_are_named(bundle_dir: Path) -> None:
    """Settings of another model, torn files and codes of the wrong shape each give a sentence."""
    with pytest.raises(ManifestError, match="8 codebooks of 1024 codes do not fit frames of 4 codes"):
        load_fish_frontend(bundle_dir, _manifest(width=4))
    (bundle_dir / "frontend/fish_speech.json").write_text("{")
    with pytest.raises(ManifestError, match=r"frontend: .* Restore the file"):
        load_fish_frontend(bundle_dir, _manifest())
    path = bundle_dir / "voices/anna.safetensors"
    save_file({"codes.0": np.zeros((3, 2), np.int32)}, path, {"text.0": "x"})
    with pytest.raises(ManifestError, match=r"holds codes int32\[3, 2\], but int32\[frames, 8\] belong there"):
        read_references(path, 8)
    for content in (b"junk", b""):
        path.write_bytes(content)
        with pytest.raises(ManifestError, match="does not hold the references of a voice"):
            read_references(path, 8)


def test_the_context_slides_and_keeps_its_beginning(bundle_dir: Path) -> None:
    """However many segments were spoken, voice and first pair stay, the newest text ends the prompt, and all fits."""
    frontend = load_fish_frontend(bundle_dir, _manifest(max_positions=700))
    rng = np.random.default_rng(0)
    spoken: list[SpokenSegment] = []
    lengths = []
    for index in range(30):
        (segment,) = frontend.prepare(f"This is sentence number {index}.", ANNA)
        assert segment.continuation is not None
        rows, max_frames = segment.continuation.join(spoken)
        own = segment.continuation.own_rows
        assert len(rows) + max_frames <= 700
        np.testing.assert_array_equal(rows[-len(own) :], own)
        if spoken:
            alone = spoken[0].prepared.row_ids
            first = frontend_rows(spoken[0].frames)
            np.testing.assert_array_equal(rows[: len(alone) + len(first)], np.concatenate([alone, first]))
        lengths.append(len(rows))
        spoken.append(SpokenSegment(segment, rng.integers(0, 1000, (int(rng.integers(5, 40)), 8), np.int32)))
    assert min(lengths[10:]) > 200


def test_a_first_pair_without_room_is_given_up(bundle_dir: Path) -> None:
    """Where the pinned pair fills the context, a segment is spoken without a past rather than not at all."""
    frontend = load_fish_frontend(bundle_dir, _manifest(max_positions=512))
    (first,), (second,) = frontend.prepare("One.", ANNA), frontend.prepare("Two.", ANNA)
    assert second.continuation is not None
    rows, max_frames = second.continuation.join([SpokenSegment(first, np.zeros((400, 8), np.int32))])
    np.testing.assert_array_equal(rows, second.row_ids)
    assert max_frames == second.max_frames


def frontend_rows(frames: NDArray[Any]) -> Rows:
    """The rows that close the turn of these frames."""
    return PromptBuilder(load_tokenizer(DATA / "tokenizer/tokenizer.tiktoken"), 8).spoken(frames)
