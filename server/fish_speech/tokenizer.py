"""The tokenizer of Fish Speech 1.5: byte-pair ranks from a file, special tokens computed after them.

Two ways to encode exist for two kinds of text: `encode_text` for what users write, which never yields a special token,
and `special` for the few control tokens that prompts are made of.
"""

import base64
import binascii
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import tiktoken

# Alternative 7 is the original's typo for a negative look-ahead; the vocabulary was trained with it, so it stays.
_PIECES = "|".join(
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"\p{P}",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(\?!\S)",
        r"\s+",
    ]
)
CONTROL_TOKENS = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|pad|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|placeholder:0|>",
    "<|placeholder:1|>",
    "<|placeholder:2|>",
    "<|placeholder:3|>",
    "<|text|>",
    "<|voice|>",
    "<|interleave|>",
)
SEMANTIC_COUNT = 1024
_SLICE_CHARACTERS = 400_000


class TokenizerError(ValueError):
    """A tokenizer file is not what it should be; the message names the file and the line."""


@dataclass(frozen=True)
class Tokenizer:
    """Text to token ids and back.

    Attributes:
        ranks: the id of every byte string of the vocabulary, 0 to len(ranks) - 1.
        semantic_count: how many semantic tokens (codes of the first codebook) follow the control tokens.
    """

    ranks: dict[bytes, int]
    semantic_count: int = SEMANTIC_COUNT

    @functools.cached_property
    def special_ids(self) -> dict[str, int]:
        """The id of every special token: its position in the fixed list, counted from the last rank."""
        tokens = [*CONTROL_TOKENS, *(f"<|semantic:{code}|>" for code in range(self.semantic_count))]
        return {token: len(self.ranks) + position for position, token in enumerate(tokens)}

    @functools.cached_property
    def _encoding(self) -> tiktoken.Encoding:
        return tiktoken.Encoding(
            "fish_speech", pat_str=_PIECES, mergeable_ranks=self.ranks, special_tokens=self.special_ids
        )

    @property
    def semantic_begin(self) -> int:
        """The id of the semantic token of code 0."""
        return len(self.ranks) + len(CONTROL_TOKENS)

    def special(self, token: str) -> int:
        """Return the id of a special token."""
        return self.special_ids[token]

    def encode_text(self, text: str) -> list[int]:
        """Encode what a user wrote; the spelling of a special token is ordinary text."""
        return self._encode(text, frozenset())

    def encode_control(self, text: str, allowed: Iterable[str] | None = None) -> list[int]:
        """Encode text in which special tokens (all, or those `allowed`) count as such. Never for what users write."""
        return self._encode(text, frozenset(self.special_ids if allowed is None else allowed))

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids`; bytes that are not UTF-8 become U+FFFD."""
        return self._encoding.decode(list(ids))

    def _encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        ids: list[int] = []
        # Slices as the original makes them: they bound the work of one call and decide merges at their seams.
        for start in range(0, len(text), _SLICE_CHARACTERS):
            piece = text[start : start + _SLICE_CHARACTERS]
            ids += self._encoding.encode(piece, allowed_special=set(allowed), disallowed_special=())
        return ids


def load_tokenizer(path: Path, semantic_count: int = SEMANTIC_COUNT) -> Tokenizer:
    """Read the rank file `path`: on each line a base64 byte string, a space and its rank.

    Raises:
        TokenizerError: a line is malformed, a rank is missing or given twice, or a single byte has no rank.
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            ranks[base64.b64decode(encoded, validate=True)] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise TokenizerError(
                f"Line {number} of {path.name} is not a base64 byte string and a rank. "
                "Copy tokenizer.tiktoken from the checkpoint again."
            ) from error
    _check_ranks(ranks, path.name)
    return Tokenizer(ranks, semantic_count)


def _check_ranks(ranks: dict[bytes, int], name: str) -> None:
    if sorted(ranks.values()) != list(range(len(ranks))):
        raise TokenizerError(
            f"The {len(ranks)} ranks of {name} are not 0 to {len(ranks) - 1}, each once; the file is truncated or "
            "edited. Copy tokenizer.tiktoken from the checkpoint again."
        )
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise TokenizerError(
            f"{name} has no rank for {len(missing)} of the 256 single bytes, so not every text can be encoded. "
            "Copy tokenizer.tiktoken from the checkpoint again."
        )
