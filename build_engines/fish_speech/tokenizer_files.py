"""What the talker needs from the tokenizer's files: the ids of its own special tokens, checked against the ranks."""

import base64
import binascii
import json
from pathlib import Path

from build_engines.errors import CheckpointError
from build_engines.fish_speech.talker_config import TokenIds

_END_OFFSET = 4
_SEMANTIC_OFFSET = 12


def token_ids(directory: Path, codebook_size: int) -> TokenIds:
    """Return the special ids of tokenizer.tiktoken and special_tokens.json in `directory`.

    Ids are computed, as the original does: the special tokens follow the ranks in a fixed order. The JSON file must
    agree, so that a tokenizer of another release is refused here and not heard later.

    Raises:
        CheckpointError: a file is malformed, or the two disagree.
    """
    rank_count = _rank_count(directory / "tokenizer.tiktoken")
    ids = TokenIds(semantic_begin=rank_count + _SEMANTIC_OFFSET, end=rank_count + _END_OFFSET)
    expected = {"<|im_end|>": ids.end}
    expected.update({f"<|semantic:{code}|>": ids.semantic_begin + code for code in range(codebook_size)})
    written = _special_tokens(directory / "special_tokens.json")
    for token, value in expected.items():
        if written.get(token) != value:
            raise CheckpointError(
                f"special_tokens.json gives {token} the id {written.get(token)}, but {value} follows from the "
                f"{rank_count} ranks of tokenizer.tiktoken. The two files are of different releases."
            )
    return ids


def _rank_count(path: Path) -> int:
    ranks: list[int] = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            base64.b64decode(encoded, validate=True)
            ranks.append(int(rank))
        except (ValueError, binascii.Error) as error:
            raise CheckpointError(
                f"Line {number} of {path.name} is not a base64 byte string and a rank. "
                "Copy it from the checkpoint again."
            ) from error
    if sorted(ranks) != list(range(len(ranks))):
        raise CheckpointError(
            f"The {len(ranks)} ranks of {path.name} are not 0 to {len(ranks) - 1}, each once; the file is truncated "
            "or edited. Copy it from the checkpoint again."
        )
    return len(ranks)


def _special_tokens(path: Path) -> dict[str, object]:
    try:
        written = json.loads(path.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path.name} is not JSON ({error}). Copy it from the checkpoint again.") from error
    if not isinstance(written, dict):
        raise CheckpointError(f"{path.name} is not a map of tokens to ids. Copy it from the checkpoint again.")
    return written
