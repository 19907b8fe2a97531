"""The `prefill` graph of the `pointer` family: phoneme rows in, keys and values out, nothing else computed."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.cached_transformer import CachedTransformer
from build_engines.graph.layer_stack import LayerStack
from build_engines.graph.layers import Weights
from build_engines.graph.storage import Storage
from build_engines.networks.pointer_talker_config import ROW_COLUMNS, PointerTalkerConfig


@dataclass(frozen=True)
class PointerPrefill:
    """Makes the graph.

    Attributes:
        config: sizes of the talker.
        weights: of `fold_talker`.
        position_count: positions of the longest segment.
    """

    config: PointerTalkerConfig
    weights: Weights
    position_count: int

    def graph(self, storage: Storage) -> GraphBuilder:
        """Build it. Rows beyond `row_count` write to the cache behind the valid ones, where nothing looks yet."""
        graph = GraphBuilder("prefill", storage)
        columns = len(ROW_COLUMNS) + self.config.codebook_count
        rows = graph.input("row_ids", np.int32, ["B", "L", columns]).cast(np.int64)
        graph.input("row_count", np.int32, ["B"])
        position = graph.input("position", np.int32, ["B"]).cast(np.int64)
        phonemes = graph.op(
            "Clip", [rows.slice(-1, 0, 1).squeeze(-1), np.asarray(0), np.asarray(self.config.phoneme_count)]
        )
        hidden = graph.gather(graph.weight("phoneme.weight", self.weights["phoneme.weight"]), phonemes)
        stack = LayerStack(self.config.slow, self.weights, "slow.", self.position_count)
        CachedTransformer(stack).fill(hidden, position)
        return graph
