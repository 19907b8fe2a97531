"""The layers of a decoder-only transformer as graph parts; where keys and values live is the caller's business.

Weight names are those of `networks/transformer.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ml_dtypes import bfloat16

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import Weights, linear, project, rms_norm, silu
from build_engines.graph.row_heads import head_count
from build_engines.graph.value import Value
from build_engines.networks.transformer_config import TransformerConfig


def rope_tables(position_count: int, config: TransformerConfig) -> list[npt.NDArray[np.float32]]:
    """Return cos and sin [position_count, head_dim / 2] of the rotary angles, as `networks.transformer.rope_table`."""
    exponents = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
    if config.rope_rounded:
        # Far along, one bit of a frequency turns an angle by more than a bfloat16 step: powers are rounded once only.
        frequencies = np.float32(1) / np.power(config.rope_base, exponents, dtype=np.float64).astype(np.float32)
    else:
        frequencies = np.float32(config.rope_base) ** -exponents
    angles = np.arange(position_count, dtype=np.float32)[:, None] * frequencies
    kind = bfloat16 if config.rope_rounded else np.float32
    return [table.astype(kind).astype(np.float32) for table in (np.cos(angles), np.sin(angles))]


@dataclass(frozen=True)
class LayerStack:
    """Some layers of a checkpoint.

    Attributes:
        config: sizes.
        weights: of the checkpoint.
        prefix: in front of `layers.<i>` in the weight names, with its dot.
        position_count: rotary angles are tabulated up to here.
    """

    config: TransformerConfig
    weights: Weights
    prefix: str
    position_count: int

    def rope(self, graph: GraphBuilder) -> list[Value]:
        """Return the rotary tables as constants."""
        # ONNX Runtime wants as many positions as there are times, and heads stand for times in `row_heads`.
        position_count = max(self.position_count, head_count(self.config))
        return [graph.constant(table) for table in rope_tables(position_count, self.config)]

    def heads(self, hidden: Value, layer: int, rope: Sequence[Value]) -> list[Value]:
        """Norm and project [batch, time, width]; returns queries, keys (both rotated) and values [batch, h, time, d].

        Args:
            hidden: input of the layer.
            layer: its index.
            rope: the two tables, and int64 positions [batch, time].
        """
        graph, config = hidden.graph, self.config
        rotating = config.heads + config.kv_heads
        joint = self.joint(hidden, layer).reshape(0, 0, head_count(config), config.head_dim).transpose(0, 2, 1, 3)
        turning, values = graph.split(joint, [rotating, config.kv_heads], 1)
        turned = graph.op("RotaryEmbedding", [turning, *rope], interleaved=1)
        return [*graph.split(turned, [config.heads, config.kv_heads], 1), values]

    def joint(self, hidden: Value, layer: int) -> Value:
        """Norm and project [batch, time, width]; returns queries, keys and values side by side, not rotated."""
        normed = rms_norm(hidden, self.weights, self._name(layer, "attention_norm"), self.config.norm_eps)
        return linear(normed, self.weights, self._name(layer, "attention.wqkv"))

    def finish(self, hidden: Value, mixed: Value, layer: int) -> Value:
        """Add what attention found, [batch, heads, time, head_dim], and the feed-forward part to the layer's input."""
        merged = mixed.transpose(0, 2, 1, 3).reshape(0, 0, self.config.heads * self.config.head_dim)
        return self.finish_merged(hidden, merged, layer)

    def finish_merged(self, hidden: Value, merged: Value, layer: int) -> Value:
        """Do what `finish` does with heads side by side, [batch, time, heads * head_dim]."""
        hidden = hidden + linear(merged, self.weights, self._name(layer, "attention.wo"))
        normed = rms_norm(hidden, self.weights, self._name(layer, "ffn_norm"), self.config.norm_eps)
        return hidden + self._feed_forward(normed, self._name(layer, "ffn"))

    def _feed_forward(self, hidden: Value, name: str) -> Value:
        """SwiGLU; the joint matrix is cut here, because two products are cheaper than one and a Split."""
        joint, inner = self.weights[f"{name}.w13.weight"], self.config.ffn_width
        gate = project(hidden, f"{name}.w1", joint[:inner])
        value = project(hidden, f"{name}.w3", joint[inner:])
        return linear(silu(gate) * value, self.weights, f"{name}.w2")

    def _name(self, layer: int, part: str) -> str:
        return f"{self.prefix}layers.{layer}.{part}"
