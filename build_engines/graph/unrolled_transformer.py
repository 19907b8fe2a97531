"""A transformer run position by position inside one graph, as a depth transformer over codebooks is."""

import numpy as np

from build_engines.graph.layer_stack import LayerStack
from build_engines.graph.row_heads import merged, row_heads, row_places
from build_engines.graph.value import Value


class UnrolledTransformer:
    """Keeps the keys and values of the positions run so far as values of the graph."""

    def __init__(self, stack: LayerStack, zero: Value) -> None:
        """Start with the layers, and zeros int64 [batch, 1] that give positions their batch axis."""
        self.stack = stack
        self._zero = zero
        self._rope = stack.rope(zero.graph)
        self._past: list[list[list[Value]]] = [[[], []] for _ in range(stack.config.layers)]
        self._count = 0

    def apply(self, hidden: Value) -> Value:
        """Run the next position [batch, 1, width]; returns it before the final norm."""
        config = self.stack.config
        rope = [*self._rope, row_places(self._zero + self._count, config)] if self._count else []
        for layer in range(config.layers):
            queries, *new = row_heads(self.stack.joint(hidden, layer), config, rope)
            keys, values = self._joined(layer, new)
            # A position that sees only itself finds its own value.
            is_found = self._count == 0 and config.heads == config.kv_heads
            mixed = values if is_found else hidden.graph.op("Attention", [queries, keys, values])
            hidden = self.stack.finish_merged(hidden, merged(mixed, config), layer)
        self._count += 1
        return hidden

    def begin(self, hidden: Value, count: int) -> Value:
        """Run the first `count` positions [batch, count, width] at once, which reads the weights once for them all."""
        rope = [*self._rope, self._zero + np.arange(count)[None]]
        for layer in range(self.stack.config.layers):
            queries, *new = self.stack.heads(hidden, layer, rope)
            mixed = hidden.graph.op("Attention", [queries, *self._joined(layer, new)], is_causal=1)
            hidden = self.stack.finish(hidden, mixed, layer)
        self._count = count
        return hidden

    def _joined(self, layer: int, new: list[Value]) -> list[Value]:
        """Return keys and values of all positions of a layer, the new ones included."""
        for past, rows in zip(self._past[layer], new, strict=True):
            past.append(rows)
        return [rows[0].graph.concat(rows, 2) for rows in self._past[layer]]
