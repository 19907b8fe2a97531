"""The decoder-only transformer of every talker: RMSNorm, grouped-query attention with interleaved RoPE, SwiGLU.

One configuration is Fish Speech 1.5's slow or fast transformer, another the default voice's. `forward` sees whole
sequences (training, golden vectors); the exporter drives the same layers one step at a time with a KV cache.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from build_engines.networks.transformer_config import TransformerConfig as TransformerConfig

FEW_POSITIONS = 8


def rope_table(position_count: int, head_dim: int, base: float, *, rounded: bool = False) -> tuple[Tensor, Tensor]:
    """Return cos and sin, each float32 [position_count, head_dim / 2], of the rotary angles (Su et al., 2021).

    With `rounded` they hold bfloat16 values. The angles are then computed as Fish Speech does, by reciprocals: one bit
    of difference in an angle can change a rounded value.
    """
    exponents = torch.arange(0, head_dim, 2).float() / head_dim
    frequencies = 1.0 / base**exponents if rounded else base**-exponents
    angles = torch.arange(position_count).float()[:, None] * frequencies
    if rounded:
        return angles.cos().bfloat16().float(), angles.sin().bfloat16().float()
    return angles.cos(), angles.sin()


def rotate(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate neighboring channel pairs of [batch, heads, time, head_dim] by angles [time, head_dim / 2]."""
    pairs = torch.view_as_complex(vectors.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)


class RmsNorm(nn.Module):
    """Root-mean-square normalization; statistics in float32, as in Llama."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, hidden: Tensor) -> Tensor:
        """Normalize the last axis."""
        return F.rms_norm(hidden.float(), (hidden.shape[-1],), self.weight.float(), self.eps).to(hidden.dtype)


class Attention(nn.Module):
    """Grouped-query self-attention with one joint projection for queries, keys and values."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        joint = (config.heads + 2 * config.kv_heads) * config.head_dim
        self.wqkv = nn.Linear(config.width, joint, bias=config.qkv_bias)
        self.wo = nn.Linear(config.heads * config.head_dim, config.width, bias=False)

    def project(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries [batch, heads, time, head_dim] and keys, values [batch, kv_heads, time, head_dim]."""
        config = self.config
        sizes = [config.heads * config.head_dim] + 2 * [config.kv_heads * config.head_dim]
        parts = self.wqkv(hidden).split(sizes, -1)
        queries, keys, values = (part.unflatten(-1, (-1, config.head_dim)).transpose(1, 2) for part in parts)
        return queries, keys, values

    def forward(self, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Attend causally over a whole sequence [batch, time, width]."""
        queries, keys, values = self.project(hidden)
        queries, keys = rotate(queries, cos, sin).to(values.dtype), rotate(keys, cos, sin).to(values.dtype)
        repeat = self.config.heads // self.config.kv_heads
        keys, values = keys.repeat_interleave(repeat, 1), values.repeat_interleave(repeat, 1)
        attended: Tensor = self.wo(_attend(queries, keys, values).transpose(1, 2).flatten(2))
        return attended


def _attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attend causally; a handful of positions (the fast transformer) is quicker without the fused kernel."""
    time = queries.shape[2]
    if time > FEW_POSITIONS:
        return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    scores = (queries @ keys.transpose(2, 3)).float() * queries.shape[-1] ** -0.5
    scores = scores.masked_fill(torch.ones(time, time, dtype=torch.bool).triu(1), float("-inf"))
    return scores.softmax(-1).to(values.dtype) @ values


class FeedForward(nn.Module):
    """SwiGLU: w2(silu(w1 x) * w3 x), with w1 and w3 in one matrix."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.w13 = nn.Linear(config.width, 2 * config.ffn_width, bias=False)
        self.w2 = nn.Linear(config.ffn_width, config.width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map [..., width] to the same shape."""
        gate, value = self.w13(hidden).chunk(2, -1)
        mapped: Tensor = self.w2(F.silu(gate) * value)
        return mapped


class TransformerLayer(nn.Module):
    """Pre-norm attention and feed-forward with residual connections."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention_norm = RmsNorm(config.width, config.norm_eps)
        self.attention = Attention(config)
        self.ffn_norm = RmsNorm(config.width, config.norm_eps)
        self.ffn = FeedForward(config)

    def forward(self, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Map a whole sequence [batch, time, width] to the same shape."""
        hidden = hidden + self.attention(self.attention_norm(hidden), cos, sin)
        return hidden + self.ffn(self.ffn_norm(hidden))


class Transformer(nn.Module):
    """A stack of layers; the final norm belongs to the caller, since Fish Speech feeds its fast network before it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.layers))

    def forward(self, hidden: Tensor) -> Tensor:
        """Map a whole sequence [batch, time, width], causally, to the same shape."""
        config = self.config
        cos, sin = rope_table(hidden.shape[1], config.head_dim, config.rope_base, rounded=config.rope_rounded)
        for layer in self.layers:
            hidden = layer(hidden, cos, sin)
        return hidden
