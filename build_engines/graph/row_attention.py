"""Attention of one new row each to a cache that it joins, as one node.

The node is ONNX Runtime's `GroupQueryAttention`, which rotates, writes the cache in place, and reads of it only what
each row has written: at unequal lengths it is faster than anything made of standard operators. The graph carries the
definition of the node in standard operators with it; a runtime that lacks the operator uses that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import onnx

from build_engines.graph.builder import CONTRIB_DOMAIN, GraphBuilder
from build_engines.graph.row_heads import head_count, merged, row_heads, row_places
from build_engines.graph.value import Value
from build_engines.networks.transformer_config import TransformerConfig

OPERATOR = "GroupQueryAttention"
_INPUTS = ("joint", "key", "value", "k", "v", "position", "longest", "cos", "sin")
_UNUSED = None


@dataclass(frozen=True)
class RowAttention:
    """Makes the nodes of one transformer.

    Attributes:
        config: sizes.
        rope: the rotary tables.
        position: int32 [batch], where the new rows are.
    """

    config: TransformerConfig
    rope: Sequence[Value]
    position: Value

    def apply(self, joint: Value, cache: Sequence[Value], written: Sequence[str], longest: Value) -> Value:
        """Write keys and values of projected rows and attend.

        Args:
            joint: queries, keys and values of the rows, [batch, 1, width of all heads], not rotated yet.
            cache: keys and values [batch, kv_heads, capacity, head_dim].
            written: names of the graph outputs that update them.
            longest: int32, the positions of the longest row, the new one included.

        Returns:
            [batch, 1, heads * head_dim].
        """
        config, inputs = self.config, [joint, _UNUSED, _UNUSED, *cache, self.position, longest, *self.rope]
        shapes = dict.fromkeys(written, cache_shape(config))
        return joint.graph.call(self._definition, inputs, shapes, self._attributes)

    @property
    def _attributes(self) -> dict[str, int]:
        heads = {"num_heads": self.config.heads, "kv_num_heads": self.config.kv_heads}
        return heads | {"do_rotary": 1, "rotary_interleaved": 1}

    @cached_property
    def _definition(self) -> onnx.FunctionProto:
        """What the operator does, in standard operators; the same for every layer."""
        config, graph = self.config, GraphBuilder(OPERATOR)
        joint = graph.input("joint", np.float32, ["B", 1, head_count(config) * config.head_dim])
        cache = {name: graph.input(name, np.float32, cache_shape(config)) for name in "kv"}
        position = graph.input("position", np.int32, ["B"]).cast(np.int64)
        place = position.unsqueeze(1)
        rope = [graph.input(name, np.float32, ["P", config.head_dim // 2]) for name in ("cos", "sin")]
        queries, *new = row_heads(joint, config, [*rope, row_places(place, config)])
        written = [
            graph.output_of(
                f"{name}_out", "TensorScatter", [past, row, position], cache_shape(config), axis=-2, mode="linear"
            )
            for (name, past), row in zip(cache.items(), new, strict=True)
        ]
        columns = graph.arange(graph.size(cache["k"], 2)).reshape(1, 1, 1, -1)
        mixed = graph.op("Attention", [queries, *written, columns <= place.unsqueeze(2, 3)])
        graph.output("mixed", merged(mixed, config), ["B", 1, config.heads * config.head_dim])
        return graph.function(CONTRIB_DOMAIN, _INPUTS, ("mixed", "k_out", "v_out"), list(self._attributes))


def cache_shape(config: TransformerConfig) -> list[int | str]:
    """Return the shape of the keys or values of one layer."""
    return ["B", config.kv_heads, "T", config.head_dim]
