"""The tokenizer against recorded encodings, and the refusal of broken rank files."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.fish_speech.tokenizer import Tokenizer, TokenizerError, load_tokenizer

DATA = Path(__file__).parents[2] / "data/fish_speech_1_5/tokenizer"
ENCODINGS = json.loads((DATA / "encodings.json").read_text())
TOKENIZER = load_tokenizer(DATA / "tokenizer.tiktoken")


@pytest.mark.parametrize(
    "case", ENCODINGS["cases"], ids=lambda case: hashlib.sha256(case["text"].encode()).hexdigest()[:8]
)
def test_text_is_encoded_as_by_the_original(case: dict[str, object]) -> None:
    """Every recorded text gives the same ids, with special tokens read and with none."""
    assert TOKENIZER.encode_control(str(case["text"])) == case["ids"]
    assert TOKENIZER.encode_text(str(case["text"])) == case["ids_no_special"]


def test_only_allowed_special_tokens_are_read() -> None:
    """A subset may be allowed; the others stay text."""
    case = ENCODINGS["allowed_subset_case"]
    assert TOKENIZER.encode_control(case["text"], case["allowed"]) == case["ids"]


def test_long_text_is_encoded_in_slices() -> None:
    """A text of over 400,000 characters is cut where the original cuts it."""
    case = ENCODINGS["long_text"]
    ids = TOKENIZER.encode_text(case["prefix"] + case["unit"] * case["repeat"])
    assert (len(ids), ids[-12:]) == (case["n_ids"], case["last_ids"])
    assert hashlib.sha256(np.array(ids, "<i4").tobytes()).hexdigest() == case["sha256_int32le"]


@pytest.mark.parametrize("case", ENCODINGS["decode_cases"])
def test_ids_are_decoded_as_by_the_original(case: dict[str, object]) -> None:
    """Half characters become U+FFFD."""
    assert TOKENIZER.decode(case["ids"]) == case["text"]  # type: ignore[arg-type]


def test_special_ids_equal_those_written_out() -> None:
    """The computed ids are those of special_tokens.json."""
    assert TOKENIZER.special_ids == json.loads((DATA / "special_tokens.json").read_text())
    assert TOKENIZER.semantic_begin == ENCODINGS["semantic_begin_id"]


@given(st.text() | st.lists(st.sampled_from([*TOKENIZER.special_ids, "<|", "|>", "a"])).map("".join))
def test_user_text_never_yields_a_special_token(text: str) -> None:
    """Whatever a user writes, every id is a rank, and decoding gives the text back."""
    ids = TOKENIZER.encode_text(text)
    assert all(token < len(TOKENIZER.ranks) for token in ids)
    assert TOKENIZER.decode(ids) == text


def _write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"\n".join(lines))
    return path


def test_a_broken_rank_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """A torn line, a lost line and a lost byte are each named."""
    lines = (DATA / "tokenizer.tiktoken").read_bytes().splitlines()
    torn = _write(tmp_path / "tokenizer.tiktoken", [*lines[:5], b"!!! x"])
    with pytest.raises(TokenizerError, match=r"Line 6 of tokenizer\.tiktoken is not a base64 byte string"):
        load_tokenizer(torn)
    with pytest.raises(TokenizerError, match="are not 0 to 597"):
        load_tokenizer(_write(torn, lines[1:]))
    with pytest.raises(TokenizerError, match="no rank for 253 of the 256 single bytes"):
        load_tokenizer(_write(torn, lines[:3]))


def test_semantic_tokens_may_be_fewer() -> None:
    """A model with a smaller codebook has as many semantic tokens as codes."""
    assert max(Tokenizer(TOKENIZER.ranks, semantic_count=4).special_ids.values()) == TOKENIZER.semantic_begin + 3
