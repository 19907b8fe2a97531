"""The `prefill` graph of the `fish_speech` family: prompt rows in, keys and values out, nothing else computed."""

import numpy as np

from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.cached_transformer import CachedTransformer
from build_engines.graph.layer_stack import LayerStack


def build_prefill(graph: GraphBuilder, weights: TalkerWeights) -> None:
    """Build it. Rows beyond `row_count` write to the cache behind the valid ones, where nothing looks yet."""
    rows = graph.input("row_ids", np.int32, ["B", "L", weights.columns]).cast(np.int64)
    graph.input("row_count", np.int32, ["B"])
    position = graph.input("position", np.int32, ["B"]).cast(np.int64)
    stack = LayerStack(weights.config.slow, weights.arrays, "slow.", weights.config.max_positions)
    CachedTransformer(stack).fill(weights.embed(rows), position)
