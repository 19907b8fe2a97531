"""The `prefill` graph of the `pointer` family: phoneme rows in, keys and values out, nothing else computed."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import Weights
from build_engines.graph.storage import Storage
from build_engines.graph.transformer import CachedTransformer
from build_engines.networks.pointer_talker_config import ROW_COLUMNS, PointerTalkerConfig
from build_engines.pointer.row_table import RowTable


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
        table = RowTable(self.config, self.weights["code_out.0"].shape[0])
        hidden = table.embed_phonemes(rows, graph.weight("rows", self.weights["rows"]))
        slow = CachedTransformer(self.config.slow, self.weights, "slow.", self.position_count)
        slow.fill(hidden, position)
        return graph
