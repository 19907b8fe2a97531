"""A directory of released files into a talker and a codec, or a sentence that says what is wrong with it."""

import json
from dataclasses import dataclass
from pathlib import Path

from build_engines.errors import CheckpointError
from build_engines.fish_speech.codec import FishCodec
from build_engines.fish_speech.codec_checkpoint import load_codec
from build_engines.fish_speech.codec_config import CodecConfig, codec_config
from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_checkpoint import load_talker
from build_engines.fish_speech.talker_config import talker_config_from_json
from build_engines.fish_speech.tensor_file import tensors_from_pth
from build_engines.fish_speech.tokenizer_files import token_ids

TOKENIZER_FILES = ("tokenizer.tiktoken", "special_tokens.json")
_TALKER_FILES = ("config.json", "model.pth", *TOKENIZER_FILES)
_CODEC_FILES = "firefly*.pth"
_CODEC_CONFIG_FILE = "firefly.json"


@dataclass(frozen=True)
class FishCheckpoint:
    """What a checkpoint directory holds, loaded and checked.

    Attributes:
        talker, codec: in float32, in evaluation mode.
        tokenizer_files: tokenizer.tiktoken and special_tokens.json.
    """

    talker: FishTalker
    codec: FishCodec
    tokenizer_files: tuple[Path, ...]


def load_checkpoint(directory: Path) -> FishCheckpoint:
    """Load the released files of Fish Speech 1.5 from `directory`.

    They are config.json, model.pth, tokenizer.tiktoken, special_tokens.json and the codec, firefly-gan-vq-*.pth. A
    codec of other sizes than the released one is described by a file firefly.json beside it.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others.
    """
    codec_path = _find_files(directory)
    config = talker_config_from_json(directory / "config.json")
    sizes = _codec_sizes(directory / _CODEC_CONFIG_FILE)
    if sizes.codebook_count != config.codebook_count:
        raise CheckpointError(
            f"config.json has {config.codebook_count} codebooks and the codec {sizes.codebook_count}; they are of "
            "different releases."
        )
    ids = token_ids(directory, config.codebook_size)
    if ids.semantic_begin + config.codebook_size > config.vocabulary:
        raise CheckpointError(
            f"The last semantic token has the id {ids.semantic_begin + config.codebook_size - 1}, but config.json has "
            f"a vocabulary of {config.vocabulary}; tokenizer.tiktoken is of another release."
        )
    return FishCheckpoint(
        talker=load_talker(tensors_from_pth(directory / "model.pth"), config, ids),
        codec=load_codec(tensors_from_pth(codec_path), sizes, codec_path.name),
        tokenizer_files=tuple(directory / name for name in TOKENIZER_FILES),
    )


def _find_files(directory: Path) -> Path:
    missing = [name for name in _TALKER_FILES if not (directory / name).is_file()]
    codecs = sorted(directory.glob(_CODEC_FILES))
    if not codecs:
        missing.append("firefly-gan-vq-fsq-8x1024-21hz-generator.pth")
    if missing:
        raise CheckpointError(
            f"{directory} lacks {', '.join(missing)}. Download every file of fish-speech-1.5 into one directory."
        )
    if len(codecs) > 1:
        names = ", ".join(path.name for path in codecs)
        raise CheckpointError(f"{directory} holds {len(codecs)} codecs ({names}). Leave the one to use.")
    return codecs[0]


def _codec_sizes(path: Path) -> CodecConfig:
    if not path.is_file():
        return CodecConfig()
    try:
        return codec_config(json.loads(path.read_text("utf-8")))
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path.name} does not describe a codec ({error!r}). Remove it to use the sizes of release 1.5."
        ) from error
