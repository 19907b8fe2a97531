"""Sizes of a transformer; free of torch, so that graphs can be built without it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes of one transformer.

    Attributes:
        width: channels of the residual stream.
        layers, heads, kv_heads, head_dim: attention geometry; `heads` is a multiple of `kv_heads`.
        ffn_width: inner channels of SwiGLU.
        rope_base: base of the rotary angles.
        norm_eps: epsilon of RMSNorm.
        qkv_bias: whether the joint projection has a bias.
        rope_rounded: use the rotary table rounded to bfloat16 that Fish Speech was trained with.
    """

    width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_width: int
    rope_base: float = 10_000.0
    norm_eps: float = 1e-5
    qkv_bias: bool = False
    rope_rounded: bool = False
