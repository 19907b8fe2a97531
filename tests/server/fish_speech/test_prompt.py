"""Prompts against those the original fed to its model, segment by segment."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from server.fish_speech.prompt import RESERVED_ROWS, PromptBuilder, Reference, Rows, keep_history
from server.fish_speech.text import split_text
from server.fish_speech.tokenizer import load_tokenizer

DATA = Path(__file__).parents[2] / "data/fish_speech_1_5"
CASES = json.loads((DATA / "prompt/prompt.json").read_text())
TOKENIZER = load_tokenizer(DATA / "tokenizer/tokenizer.tiktoken")


def _references(case: dict[str, Any], arrays: dict[str, Rows]) -> list[Reference]:
    texts = case["references"] or []
    return [Reference(text, arrays[f"ref{index}_codes"].T) for index, text in enumerate(texts)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_prompts_equal_the_originals(case: dict[str, Any]) -> None:
    """System message, references, history and text of every segment give the same matrix."""
    with np.load(DATA / f"prompt/{case['name']}.npz") as archive:
        arrays = dict(archive)
    compat = bool(case["specials_in_user_text_allowed"])
    builder = PromptBuilder(TOKENIZER, case["num_codebooks"], upstream_compat=compat)
    voice = builder.voice(_references(case, arrays))
    head = voice if case["references"] is not None else voice[:0]
    budget = case["max_length"] - RESERVED_ROWS - len(voice)
    text = case["text"]
    segments = split_text(text, case["chunk_length"]) if case["iterative_prompt"] else [text]
    assert segments == case["segments"]
    turns: list[Rows] = []
    for index, segment in enumerate(segments):
        turns.append(builder.turn(segment))
        prompt = np.concatenate([head, *keep_history(turns, budget, upstream_compat=compat)])
        np.testing.assert_array_equal(prompt.T, arrays[f"segment{index}_prompt"])
        turns.append(arrays[f"segment{index}_generated"].T)


def test_a_turn_too_long_for_the_context_goes_with_the_first_pair_only() -> None:
    """Where the original repeats the whole history, only the pinned pair and the newest turn remain."""
    turns = [np.full((length, 9), index, np.int32) for index, length in enumerate([3, 4, 3, 4, 50])]
    assert [int(turn[0, 0]) for turn in keep_history(turns, 40)] == [0, 1, 4]
    assert [int(turn[0, 0]) for turn in keep_history(turns, 40, upstream_compat=True)] == [0, 1, 0, 1, 2, 3, 4]


def test_spoken_frames_close_their_turn() -> None:
    """What was spoken returns as semantic tokens with their codes and the end of the message."""
    builder = PromptBuilder(TOKENIZER, 2)
    rows = builder.spoken(np.array([[5, 6, 9]], np.int32))
    begin, end = TOKENIZER.semantic_begin, TOKENIZER.special("<|im_end|>")
    assert rows.tolist() == [[begin + 5, 5, 6], [end, 0, 0]]
