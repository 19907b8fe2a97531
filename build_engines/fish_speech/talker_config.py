"""The sizes of a Fish Speech talker, read from the checkpoint's config.json and its special tokens."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from build_engines.errors import CheckpointError
from build_engines.networks.transformer import TransformerConfig


@dataclass(frozen=True)
class TokenIds:
    """The special tokens that the talker itself must know.

    Attributes:
        semantic_begin: id of the semantic token of code 0; that of code c is semantic_begin + c.
        end: id of `<|im_end|>`, the stop token.
    """

    semantic_begin: int
    end: int


@dataclass(frozen=True)
class FishTalkerConfig:
    """Sizes of the slow and the fast transformer and of the tables around them.

    Attributes:
        slow, fast: the two transformers.
        vocabulary: rows of the token table.
        codebook_count: codes of a frame.
        codebook_size: entries of each codebook's table, used or not.
        max_positions: rows of a context.
        is_tied: the token head is the token table.
    """

    slow: TransformerConfig
    fast: TransformerConfig
    vocabulary: int
    codebook_count: int
    codebook_size: int
    max_positions: int
    is_tied: bool = False


class _Fields:
    """Typed access to config.json: a wrong or missing value is a sentence that names the field."""

    def __init__(self, values: Mapping[str, object], source: str) -> None:
        self._values = values
        self._source = source

    def count(self, name: str, fallback: int | None = None) -> int:
        value = self._values.get(name)
        if value is None:
            value = fallback
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise CheckpointError(f"{self._source}: `{name}` is {value!r}, where a whole number above 0 belongs.")
        return value

    def positive(self, name: str, fallback: float) -> float:
        value = self._values.get(name, fallback)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise CheckpointError(f"{self._source}: `{name}` is {value!r}, where a number above 0 belongs.")
        return float(value)

    def flag(self, name: str, *, fallback: bool) -> bool:
        value = self._values.get(name, fallback)
        if not isinstance(value, bool):
            raise CheckpointError(f"{self._source}: `{name}` is {value!r}, where true or false belongs.")
        return value


def talker_config_from_json(path: Path) -> FishTalkerConfig:
    """Read config.json. Fields that do not change inference are ignored, whatever they are called.

    Raises:
        CheckpointError: not JSON, not a dual-autoregressive model, or a field is missing or of the wrong kind.
    """
    try:
        values = json.loads(path.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path.name} is not JSON ({error}). Copy it from the checkpoint again.") from error
    if not isinstance(values, dict) or values.get("model_type") != "dual_ar":
        raise CheckpointError(
            f'{path.name} does not describe a Fish Speech 1.5 model: its `model_type` must be "dual_ar". '
            "Point --checkpoint at the directory of fish-speech-1.5."
        )
    return talker_config(values, path.name)


def talker_config(values: Mapping[str, object], source: str) -> FishTalkerConfig:
    """Return the sizes that the settings of `source` describe; fast sizes default to the slow ones, as upstream."""
    fields = _Fields(values, source)
    if not fields.flag("share_codebook_embeddings", fallback=True):
        raise CheckpointError(
            f"{source}: `share_codebook_embeddings` is false, a layout that no released model has and that is not "
            "supported."
        )
    slow = _transformer(fields, "", "n_layer", None)
    return FishTalkerConfig(
        slow=slow,
        fast=_transformer(fields, "fast_", "n_fast_layer", slow),
        vocabulary=fields.count("vocab_size"),
        codebook_count=fields.count("num_codebooks"),
        codebook_size=fields.count("codebook_size"),
        max_positions=fields.count("max_seq_len"),
        is_tied=fields.flag("tie_word_embeddings", fallback=False),
    )


def _transformer(fields: _Fields, prefix: str, layers: str, like: TransformerConfig | None) -> TransformerConfig:
    width = fields.count(f"{prefix}dim", like.width if like else None)
    heads = fields.count(f"{prefix}n_head", like.heads if like else None)
    kv_heads = fields.count(f"{prefix}n_local_heads", like.kv_heads if like else heads)
    if width % heads or heads % kv_heads:
        raise CheckpointError(
            f"`{prefix}dim` {width}, `{prefix}n_head` {heads} and `{prefix}n_local_heads` {kv_heads} do not divide."
        )
    return TransformerConfig(
        width=width,
        layers=fields.count(layers),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=width // heads,
        ffn_width=fields.count(f"{prefix}intermediate_size", like.ffn_width if like else _ffn_width(width)),
        rope_base=fields.positive("rope_base", 10_000.0),
        norm_eps=fields.positive("norm_eps", 1e-5),
        qkv_bias=fields.flag(f"{prefix}attention_qkv_bias", fallback=like.qkv_bias if like else False),
        rope_rounded=True,
    )


def _ffn_width(width: int) -> int:
    """Return the inner width that a null `intermediate_size` stands for: 8/3 of the width, up to a multiple of 256."""
    return -(-int(8 * width / 3) // 256) * 256
