"""A transformer run position by position inside one graph, as a depth transformer over codebooks is."""

import numpy as np

from build_engines.graph.layer_stack import LayerStack
from build_engines.graph.value import Value


class UnrolledTransformer:
    """Keeps the keys and values of the positions run so far as values of the graph."""

    def __init__(self, stack: LayerStack, first_position: Value) -> None:
        """Start with the layers, and the first position int64 [batch, 1]."""
        self.stack = stack
        self._position = first_position
        self._rope = stack.rope(first_position.graph)
        self._past: list[list[list[Value]]] = [[[], []] for _ in range(stack.config.layers)]

    def apply(self, hidden: Value) -> Value:
        """Run the next position [batch, 1, width]; returns it before the final norm."""
        return self._run(hidden, self._position, is_causal=0)

    def begin(self, hidden: Value, count: int) -> Value:
        """Run the first `count` positions [batch, count, width] at once, which reads the weights once for them all."""
        hidden = self._run(hidden, self._position + np.arange(count)[None], is_causal=1)
        self._position = self._position + (count - 1)
        return hidden

    def _run(self, hidden: Value, places: Value, is_causal: int) -> Value:
        for layer in range(self.stack.config.layers):
            hidden = self.stack.finish(hidden, self._attend(hidden, layer, places, is_causal), layer)
        self._position = self._position + 1
        return hidden

    def _attend(self, hidden: Value, layer: int, places: Value, is_causal: int) -> Value:
        queries, *new = self.stack.heads(hidden, layer, [*self._rope, places])
        for past, rows in zip(self._past[layer], new, strict=True):
            past.append(rows)
        keys, values = (hidden.graph.concat(past, 2) for past in self._past[layer])
        return hidden.graph.op("Attention", [queries, keys, values], is_causal=is_causal)
