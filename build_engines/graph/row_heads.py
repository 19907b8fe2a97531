"""Queries, keys and values of one new row each: what `LayerStack.heads` does for many, with half of the nodes.

The heads of a row take the place of the times of a sequence, each with a position of its own. So all three need to be
cut but once, and nothing changes places in memory.
"""

from collections.abc import Sequence

import numpy as np

from build_engines.graph.value import Value
from build_engines.networks.transformer_config import TransformerConfig


def head_count(config: TransformerConfig) -> int:
    """Return the number of heads of queries, keys and values together."""
    return config.heads + 2 * config.kv_heads


def row_places(position: Value, config: TransformerConfig) -> Value:
    """Return the positions int64 [batch, heads] for rows at `position` [batch, 1]; values stand still at 0."""
    is_turning = np.arange(head_count(config)) < config.heads + config.kv_heads
    return position * is_turning[None].astype(np.int64)


def row_heads(joint: Value, config: TransformerConfig, rope: Sequence[Value]) -> list[Value]:
    """Return queries, keys (both rotated) and values [batch, heads, 1, head_dim] of projected rows.

    Args:
        joint: [batch, 1, width of all heads].
        config: sizes.
        rope: the tables with at least `head_count` positions, and `row_places`; nothing for rows at position 0.
    """
    graph, count = joint.graph, head_count(config)
    if rope:
        joint = graph.op("RotaryEmbedding", [joint.reshape(0, 1, count, config.head_dim), *rope], interleaved=1)
    heads = joint.reshape(0, count, 1, config.head_dim)
    return graph.split(heads, [config.heads, config.kv_heads, config.kv_heads], 1)


def merged(mixed: Value, config: TransformerConfig) -> Value:
    """Return what attention found for one row each, [batch, heads, 1, head_dim], as [batch, 1, width]."""
    return mixed.reshape(0, 1, config.heads * config.head_dim)
