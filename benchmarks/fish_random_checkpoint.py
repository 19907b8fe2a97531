"""Writes a Fish Speech checkpoint of random weights, laid out as the released one, to measure with.

    python -m benchmarks.fish_random_checkpoint build/fish-random            # the true sizes of 1.5, 1.5 GB
    python -m benchmarks.fish_random_checkpoint build/fish-small --small

Weights are drawn so that only what can be spoken is likely: the first channel of every hidden state is held constant,
and the head puts all other tokens far down by it. The original then never draws a token that it cannot handle.
"""

import argparse
import base64
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from build_engines.fish_speech.codec import FishCodec
from build_engines.fish_speech.codec_config import CodecConfig
from build_engines.fish_speech.talker_checkpoint import unfilled_talker
from build_engines.fish_speech.talker_config import TokenIds, talker_config

_CONTROL_TOKENS = (
    *("begin_of_text", "end_of_text", "pad", "im_start", "im_end"),
    *(f"placeholder:{index}" for index in range(4)),
    *("text", "voice", "interleave"),
)
_STEADY = 8.0
_FAR_DOWN = -40.0
_DEVIATION = 0.02

FULL: dict[str, Any] = {
    "model_type": "dual_ar", "vocab_size": 102_048, "dim": 1024, "n_layer": 24, "n_head": 16, "n_local_heads": 2,
    "head_dim": 64, "intermediate_size": 4096, "codebook_size": 1024, "num_codebooks": 8, "n_fast_layer": 4,
    "max_seq_len": 8192, "rope_base": 1e6, "norm_eps": 1e-6, "dropout": 0.1, "tie_word_embeddings": False,
    "attention_qkv_bias": False, "initializer_range": 0.02,
}  # fmt: skip
SMALL = {
    **FULL, "vocab_size": 1600, "dim": 64, "n_layer": 2, "n_head": 4, "n_local_heads": 2, "head_dim": 16,
    "intermediate_size": 128, "n_fast_layer": 1, "max_seq_len": 512,
}  # fmt: skip
SMALL_CODEC = CodecConfig(widths=(16, 24, 32, 64), head_width=64)


def main() -> None:
    """Write one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--small", action="store_true", help="a few hundred kilobytes instead of the true sizes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    config, codec = (SMALL, SMALL_CODEC) if options.small else (FULL, CodecConfig())
    write_random_checkpoint(options.directory, config, codec, options.seed)


def write_random_checkpoint(directory: Path, config: dict[str, Any], sizes: CodecConfig, seed: int = 0) -> None:
    """Write config.json, model.pth (bfloat16), the tokenizer's files and the codec."""
    directory.mkdir(parents=True, exist_ok=True)
    unused_ids = 1012 if config["vocab_size"] == FULL["vocab_size"] else 0
    rank_count = config["vocab_size"] - 1024 - len(_CONTROL_TOKENS) - unused_ids
    ids = TokenIds(rank_count + len(_CONTROL_TOKENS), rank_count + _CONTROL_TOKENS.index("im_end"))
    (directory / "config.json").write_text(json.dumps(config, indent=2))
    _write_tokenizer(directory, rank_count)
    torch.manual_seed(seed)
    torch.save(_talker_tensors(config, ids), directory / "model.pth")
    torch.save(_codec_tensors(FishCodec(sizes)), directory / "firefly-gan-vq-fsq-8x1024-21hz-generator.pth")
    if sizes != CodecConfig():
        (directory / "firefly.json").write_text(json.dumps(_nested(sizes)))


def _write_tokenizer(directory: Path, rank_count: int) -> None:
    pieces = [bytes([byte]) for byte in range(256)]
    pieces += [index.to_bytes(3, "big") for index in range(1 << 16, (1 << 16) + rank_count - 256)]
    lines = [f"{base64.b64encode(piece).decode()} {rank}" for rank, piece in enumerate(pieces)]
    (directory / "tokenizer.tiktoken").write_text("\n".join(lines) + "\n")
    tokens = [f"<|{name}|>" for name in (*_CONTROL_TOKENS, *(f"semantic:{code}" for code in range(1024)))]
    special = {token: rank_count + place for place, token in enumerate(tokens)}
    (directory / "special_tokens.json").write_text(json.dumps(special))


def _talker_tensors(config: dict[str, Any], ids: TokenIds) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for name, parameter in unfilled_talker(talker_config(config, "config"), ids).named_parameters():
        is_gain = "norm" in name
        drawn = torch.ones(parameter.shape) if is_gain else torch.randn(parameter.shape) * _DEVIATION
        tensors.update(_stored(name, drawn))
    for name, tensor in tensors.items():
        if name.endswith(("wo.weight", "w2.weight")) and not name.startswith("fast_"):
            tensor[0] = 0.0
    tensors["codebook_embeddings.weight"][:, 0] = 0.0
    tensors["embeddings.weight"][:, 0] = _STEADY
    head = tensors["output.weight"]
    spoken = head[ids.semantic_begin : ids.semantic_begin + config["codebook_size"]].clone()
    head[:, 0] = _FAR_DOWN
    head[ids.semantic_begin : ids.semantic_begin + config["codebook_size"]] = spoken
    return {name: tensor.bfloat16() for name, tensor in tensors.items()}


def _stored(name: str, drawn: Tensor) -> dict[str, Tensor]:
    """Return a weight under its name, or names, in the checkpoint."""
    name = (
        name.replace("slow.layers.", "layers.")
        .replace("fast.layers.", "fast_layers.")
        .replace(".ffn.", ".feed_forward.")
    )
    if ".w13." in name:
        first, third = drawn.chunk(2)
        return {name.replace("w13", "w1"): first.clone(), name.replace("w13", "w3"): third.clone()}
    return {name: drawn}


def _codec_tensors(codec: FishCodec) -> dict[str, Tensor]:
    """Return a codec's weights; those of the decoder split into length and direction, as they are trained."""
    tensors = {}
    for name, tensor in codec.state_dict().items():
        if name.startswith("head.") and name.endswith("conv.weight"):
            stem = name.removesuffix("weight") + "parametrizations.weight."
            tensors[f"{stem}original0"] = tensor.flatten(1).norm(dim=1).reshape(-1, 1, 1)
            tensors[f"{stem}original1"] = tensor
        else:
            tensors[name] = tensor
    return tensors


def _nested(config: CodecConfig) -> dict[str, Any]:
    """Return sizes in the form that `codec_config` reads."""
    return {
        "spec_transform": {
            "sample_rate": config.sample_rate_hz,
            "win_length": config.window_samples,
            "hop_length": config.hop_samples,
            "n_mels": config.bands,
        },
        "backbone": {"depths": config.depths, "dims": config.widths},
        "quantizer": {
            "n_groups": config.codebook_count,
            "levels": config.levels,
            "downsample_factor": config.downsample_factors,
        },
        "head": {
            "upsample_initial_channel": config.head_width,
            "upsample_rates": config.upsample_rates,
            "upsample_kernel_sizes": config.upsample_kernels,
            "resblock_kernel_sizes": config.block_kernels,
            "resblock_dilation_sizes": [config.block_dilations],
            "pre_conv_kernel_size": config.edge_kernel,
        },
    }


if __name__ == "__main__":
    main()
