"""Transformers as graphs: one with a KV cache that lives outside, one unrolled over a few positions.

Weight names are those of `networks/transformer.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import Weights, linear, rms_norm, silu
from build_engines.graph.value import Value
from build_engines.networks.transformer_config import TransformerConfig


def rope_tables(position_count: int, config: TransformerConfig) -> list[npt.NDArray[np.float32]]:
    """Return cos and sin [position_count, head_dim / 2] of the rotary angles."""
    exponents = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
    frequencies = np.float32(config.rope_base) ** -exponents
    angles = np.arange(position_count, dtype=np.float32)[:, None] * frequencies
    return [np.cos(angles), np.sin(angles)]


def feed_forward(hidden: Value, weights: Weights, name: str, config: TransformerConfig) -> Value:
    """SwiGLU: w2(silu(w1 x) * w3 x)."""
    joint = linear(hidden, weights, f"{name}.w13")
    gate, value = hidden.graph.split(joint, [config.ffn_width] * 2, -1)
    return linear(silu(gate) * value, weights, f"{name}.w2")


def heads_of(hidden: Value, weights: Weights, name: str, config: TransformerConfig) -> Value:
    """Return queries, keys and values [batch, heads + 2 * kv_heads, time, head_dim] of rows [batch, time, width]."""
    joint = linear(hidden, weights, f"{name}.wqkv")
    return joint.reshape(0, 0, config.heads + 2 * config.kv_heads, config.head_dim).transpose(0, 2, 1, 3)


def rotated_heads(joint: Value, rope: Sequence[Value], config: TransformerConfig) -> list[Value]:
    """Split joint heads into queries, keys and values, the first two rotated together."""
    graph = joint.graph
    turning, values = graph.split(joint, [config.heads + config.kv_heads, config.kv_heads], 1)
    turned = graph.op("RotaryEmbedding", [turning, *rope], interleaved=1)
    return [*graph.split(turned, [config.heads, config.kv_heads], 1), values]


def merged_heads(mixed: Value) -> Value:
    """[batch, heads, time, head_dim] -> [batch, time, heads * head_dim]."""
    return mixed.transpose(0, 2, 1, 3).reshape(0, 0, -1)


@dataclass(frozen=True)
class CachedTransformer:
    """A stack of layers over new rows, whose keys and values go into caches `k_<layer>`, `v_<layer>`.

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

    def apply(self, hidden: Value, position: Value) -> Value:
        """Run rows [batch, time, width] that start at `position` [batch] int64 of their caches.

        Declares the caches as inputs and outputs of the graph. Returns the rows before the final norm.
        """
        return self._run(hidden, position, is_filling=False)

    def fill(self, hidden: Value, position: Value) -> None:
        """Do what `apply` does to the caches, and compute nothing else."""
        self._run(hidden, position, is_filling=True)

    def _run(self, hidden: Value, position: Value, *, is_filling: bool) -> Value:
        graph = hidden.graph
        caches = [self._cache_inputs(graph, layer) for layer in range(self.config.layers)]
        positions = position.unsqueeze(1) + graph.arange(graph.size(hidden, 1)).unsqueeze(0)
        columns = graph.arange(graph.size(caches[0][0], 2)).reshape(1, 1, 1, -1)
        visible = columns <= positions.unsqueeze(1, 3)
        rope = [*(graph.constant(table) for table in rope_tables(self.position_count, self.config)), positions]
        for layer, cache in enumerate(caches):
            name = f"{self.prefix}layers.{layer}"
            normed = rms_norm(hidden, self.weights, f"{name}.attention_norm", self.config.norm_eps)
            joint = heads_of(normed, self.weights, f"{name}.attention", self.config)
            queries, keys, values = rotated_heads(joint, rope, self.config)
            written = self._write(layer, cache, (keys, values), position)
            if is_filling and layer == self.config.layers - 1:
                break
            mixed = graph.op("Attention", [queries, *written, visible])
            hidden = hidden + linear(merged_heads(mixed), self.weights, f"{name}.attention.wo")
            normed = rms_norm(hidden, self.weights, f"{name}.ffn_norm", self.config.norm_eps)
            hidden = hidden + feed_forward(normed, self.weights, f"{name}.ffn", self.config)
        return hidden

    def _shape(self) -> list[int | str]:
        return ["B", self.config.kv_heads, "T", self.config.head_dim]

    def _cache_inputs(self, graph: GraphBuilder, layer: int) -> list[Value]:
        return [graph.input(f"{kind}_{layer}", np.float32, self._shape()) for kind in "kv"]

    def _write(self, layer: int, cache: Sequence[Value], new: Sequence[Value], position: Value) -> list[Value]:
        return [
            past.graph.output_of(
                f"{kind}_{layer}_out", "TensorScatter", [past, rows, position], self._shape(), axis=-2, mode="linear"
            )
            for kind, past, rows in zip("kv", cache, new, strict=True)
        ]


class UnrolledTransformer:
    """A stack of layers run position by position inside one graph, as a depth transformer over codebooks is."""

    def __init__(self, config: TransformerConfig, weights: Weights, prefix: str, position_count: int) -> None:
        self.config = config
        self.weights = weights
        self.prefix = prefix
        self._tables = rope_tables(position_count, config)
        self._past: list[list[list[Value]]] = [[[], []] for _ in range(config.layers)]
        self._position = 0

    def apply(self, hidden: Value) -> Value:
        """Run the next position [batch, 1, width] and return it."""
        for layer in range(self.config.layers):
            name = f"{self.prefix}layers.{layer}"
            normed = rms_norm(hidden, self.weights, f"{name}.attention_norm", self.config.norm_eps)
            mixed = self._attend(heads_of(normed, self.weights, f"{name}.attention", self.config), layer)
            hidden = hidden + linear(merged_heads(mixed), self.weights, f"{name}.attention.wo")
            normed = rms_norm(hidden, self.weights, f"{name}.ffn_norm", self.config.norm_eps)
            hidden = hidden + feed_forward(normed, self.weights, f"{name}.ffn", self.config)
        self._position += 1
        return hidden

    def _attend(self, joint: Value, layer: int) -> Value:
        graph = joint.graph
        batch = graph.op("Shape", [joint], dtype=np.int64, start=0, end=1)
        shape = graph.concat([batch, np.asarray([1, self.config.head_dim // 2], np.int64)], 0)
        rows = [table[self._position].reshape(1, 1, -1) for table in self._tables]
        rope = [graph.op("Expand", [row, shape]) for row in rows]
        queries, keys, values = rotated_heads(joint, rope, self.config)
        for past, new in zip(self._past[layer], (keys, values), strict=True):
            past.append(new)
        return graph.op("Attention", [queries, *(graph.concat(past, 2) for past in self._past[layer])])
