"""A transformer over new rows, whose keys and values go into caches outside the graph, updated in place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layer_stack import LayerStack
from build_engines.graph.value import Value


@dataclass(frozen=True)
class CachedTransformer:
    """Declares the caches `k_<layer>`, `v_<layer>` as inputs and, with `_out` behind, as outputs.

    Attributes:
        stack: the layers.
    """

    stack: LayerStack

    def apply(self, hidden: Value, position: Value) -> Value:
        """Run rows [batch, time, width] that start at `position` [batch] int64; returns them before the final norm."""
        return self._run(hidden, position, is_filling=False)

    def fill(self, hidden: Value, position: Value) -> None:
        """Do what `apply` does to the caches, and compute nothing else."""
        self._run(hidden, position, is_filling=True)

    def _run(self, hidden: Value, position: Value, *, is_filling: bool) -> Value:
        graph, layers = hidden.graph, range(self.stack.config.layers)
        caches = [self._inputs(graph, layer) for layer in layers]
        places = position.unsqueeze(1) + graph.arange(graph.size(hidden, 1)).unsqueeze(0)
        columns = graph.arange(graph.size(caches[0][0], 2)).reshape(1, 1, 1, -1)
        visible = columns <= places.unsqueeze(1, 3)
        rope = [*self.stack.rope(graph), places]
        for layer, cache in zip(layers, caches, strict=True):
            queries, *new = self.stack.heads(hidden, layer, rope)
            written = self._write(layer, cache, new, position)
            if is_filling and layer == layers[-1]:
                break
            mixed = graph.op("Attention", [queries, *written, visible])
            hidden = self.stack.finish(hidden, mixed, layer)
        return hidden

    def _shape(self) -> list[int | str]:
        return ["B", self.stack.config.kv_heads, "T", self.stack.config.head_dim]

    def _inputs(self, graph: GraphBuilder, layer: int) -> list[Value]:
        return [graph.input(f"{kind}_{layer}", np.float32, self._shape()) for kind in "kv"]

    def _write(self, layer: int, cache: Sequence[Value], new: Sequence[Value], position: Value) -> list[Value]:
        return [
            past.graph.output_of(
                f"{kind}_{layer}_out", "TensorScatter", [past, rows, position], self._shape(), axis=-2, mode="linear"
            )
            for kind, past, rows in zip("kv", cache, new, strict=True)
        ]
