"""A transformer over new rows, whose keys and values go into caches outside the graph, updated in place."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layer_stack import LayerStack
from build_engines.graph.row_attention import RowAttention, cache_shape
from build_engines.graph.value import Value


@dataclass(frozen=True)
class CachedTransformer:
    """Declares the caches `k_<layer>`, `v_<layer>` as inputs and, with `_out` behind, as outputs.

    Attributes:
        stack: the layers.
    """

    stack: LayerStack

    def step(self, hidden: Value, position: Value) -> Value:
        """Run one row [batch, 1, width] each at `position` [batch] int32; returns them before the final norm."""
        graph = hidden.graph
        attention = RowAttention(self.stack.config, self.stack.rope(graph), position)
        longest = graph.op("ReduceMax", [position], keepdims=0) + 1
        for layer, cache in enumerate(self._caches(graph)):
            mixed = attention.apply(self.stack.joint(hidden, layer), cache, self._outputs(layer), longest)
            hidden = self.stack.finish_merged(hidden, mixed, layer)
        return hidden

    def fill(self, hidden: Value, position: Value) -> None:
        """Put rows [batch, time, width] that start at `position` [batch] int64 into the caches, and no more."""
        graph, caches = hidden.graph, self._caches(hidden.graph)
        places = position.unsqueeze(1) + graph.arange(graph.size(hidden, 1)).unsqueeze(0)
        columns = graph.arange(graph.size(caches[0][0], 2)).reshape(1, 1, 1, -1)
        visible = columns <= places.unsqueeze(1, 3)
        rope, shape = [*self.stack.rope(graph), places], cache_shape(self.stack.config)
        for layer, cache in enumerate(caches):
            queries, *new = self.stack.heads(hidden, layer, rope)
            written = [
                graph.output_of(name, "TensorScatter", [past, rows, position], shape, axis=-2, mode="linear")
                for name, past, rows in zip(self._outputs(layer), cache, new, strict=True)
            ]
            if layer + 1 < len(caches):
                hidden = self.stack.finish(hidden, graph.op("Attention", [queries, *written, visible]), layer)

    def _caches(self, graph: GraphBuilder) -> list[list[Value]]:
        """Declare the inputs, keys and values of every layer."""
        shape = cache_shape(self.stack.config)
        layers = range(self.stack.config.layers)
        return [[graph.input(f"{kind}_{layer}", np.float32, shape) for kind in "kv"] for layer in layers]

    @staticmethod
    def _outputs(layer: int) -> list[str]:
        return [f"{kind}_{layer}_out" for kind in "kv"]
