"""Prompts of Fish Speech 1.5 as rows: a token id and the codes of one frame, zeros where the token is not semantic.

A prompt is a conversation: a system message, a user turn and an assistant turn for each reference of the voice, those
of the segments spoken before, then the user turn to speak and an assistant turn left open, where speech begins. Every
part is tokenized on its own: no byte pair spans two parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.fish_speech.text import clean_text
from server.fish_speech.tokenizer import Tokenizer

Rows = NDArray[np.int32]

_SYSTEM = "Speak out the provided text."
RESERVED_ROWS = 1024


@dataclass(frozen=True)
class Reference:
    """A recording that shows the voice.

    Attributes:
        text: what is said in it.
        codes: int32 [frames, codebooks or more]; codebooks beyond the model's are not used.
    """

    text: str
    codes: Rows


@dataclass(frozen=True)
class PromptBuilder:
    """Builds prompts for one tokenizer and one number of codebooks.

    Attributes:
        upstream_compat: read special tokens in what users write, as the original does. An injection hole: for
            comparison with the original only.
    """

    tokenizer: Tokenizer
    codebook_count: int
    upstream_compat: bool = False

    def system(self) -> Rows:
        """Return the system message."""
        return self._message("system", [self.tokenizer.encode_control(_SYSTEM)])

    def reference(self, reference: Reference) -> Rows:
        """Return the user and assistant turns of one reference."""
        spoken = self.frames(reference.codes)
        header = self._rows([*self._header("assistant"), self.tokenizer.special("<|voice|>")])
        end = self._rows([self.tokenizer.special("<|im_end|>")])
        return np.concatenate([self._user(reference.text), header, spoken, end])

    def voice(self, references: Sequence[Reference]) -> Rows:
        """Return what every prompt of a voice begins with: the system message and the references in order."""
        return np.concatenate([self.system(), *map(self.reference, references)])

    def turn(self, text: str) -> Rows:
        """Return the user turn that asks for `text` and the opened assistant turn; its last row is the first step's."""
        opened = [*self._header("assistant"), self.tokenizer.special("<|voice|>")]
        return np.concatenate([self._user(text), self._rows(opened)])

    def frames(self, codes: Rows) -> Rows:
        """Return spoken frames [frames, codebooks or more] as rows; the first code is the semantic token as well."""
        used = codes[:, : self.codebook_count].astype(np.int32)
        return np.concatenate([used[:, :1] + self.tokenizer.semantic_begin, used], axis=1, dtype=np.int32)

    def spoken(self, codes: Rows) -> Rows:
        """Return the rows that close a turn: the frames spoken in it and the end of the message."""
        return np.concatenate([self.frames(codes), self._rows([self.tokenizer.special("<|im_end|>")])])

    def _user(self, text: str) -> Rows:
        cleaned = clean_text(text)
        encode = self.tokenizer.encode_control if self.upstream_compat else self.tokenizer.encode_text
        return self._message("user", [encode(cleaned)])

    def _message(self, role: str, parts: Sequence[list[int]]) -> Rows:
        ids = self._header(role)
        for part in parts:
            ids += part
        return self._rows([*ids, self.tokenizer.special("<|im_end|>")])

    def _header(self, role: str) -> list[int]:
        return self.tokenizer.encode_control(f"<|im_start|>{role}\n")

    def _rows(self, ids: Sequence[int]) -> Rows:
        rows = np.zeros((len(ids), 1 + self.codebook_count), np.int32)
        rows[:, 0] = ids
        return rows


def keep_history(turns: Sequence[Rows], budget_rows: int, *, upstream_compat: bool = False) -> list[Rows]:
    """Return those of `turns` that fit a context, in order.

    Args:
        turns: what was asked and spoken in turn, [asked 0, spoken 0, asked 1, ...]; the last one is being asked.
        budget_rows: rows left after the voice and after RESERVED_ROWS for the answer.
        upstream_compat: repeat the original's slip: when not even the newest turn fits, it sends the first pair and
            then everything again, instead of the first pair and the newest turn.

    The first pair always stays, lest the voice drift; the oldest of the others go first, pair by pair. The newest
    length counts twice, as in the original.
    """
    kept = _kept_count(turns, budget_rows)
    if kept == 0 and not upstream_compat:
        kept = 1
    if kept >= len(turns) - 2:
        return list(turns)
    return [*turns[:2], *turns[len(turns) - kept if kept else 0 :]]


def _kept_count(turns: Sequence[Rows], budget_rows: int) -> int:
    total, kept = 0, 0
    for index, turn in enumerate(reversed(turns)):
        kept = index
        total += len(turn)
        if total + len(turn) > budget_rows:
            break
    return kept - 1 if kept and kept % 2 == 0 else kept
