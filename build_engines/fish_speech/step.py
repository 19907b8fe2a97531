"""The `step` graph of the `fish_speech` family: one frame for every row, with both draws and the stop rule inside.

The state of a row is its `history`, the last 16 frames for the repetition penalty, and `frame_count`, how many frames
it has drawn: the first one is drawn without a penalty and never enters the history, as in the original.
"""

import functools
from dataclasses import dataclass

import numpy as np

from build_engines.fish_speech.graph_sampling import DrawParams, Repeats, draw
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.cached_transformer import CachedTransformer
from build_engines.graph.layer_stack import LayerStack
from build_engines.graph.layers import linear, project, rms_norm
from build_engines.graph.unrolled_transformer import UnrolledTransformer
from build_engines.graph.value import Value

HISTORY_FRAMES = 16
PARAMS = ("temperature", "top_p", "repetition_penalty")


@dataclass(frozen=True)
class _Draws:
    """What decides the draws of one step: parameters, the past, and one number for the token and each further code."""

    params: DrawParams
    repeats: Repeats
    uniforms: list[Value]


class FishStep:
    """Makes the graph."""

    def __init__(self, weights: TalkerWeights) -> None:
        self.weights = weights
        self._kept_ids = weights.kept_ids()

    @property
    def random_columns(self) -> int:
        """Uniform numbers of one step: one for the token, which is the first code as well, one for each other code."""
        return self.weights.config.codebook_count

    def build(self, graph: GraphBuilder) -> None:
        """Build it."""
        columns = self.weights.columns
        rows = graph.input("row_ids", np.int32, ["B", columns]).cast(np.int64)
        position = graph.input("position", np.int32, ["B"])
        active = graph.input("active", np.bool_, ["B"])
        params = graph.split(graph.input("params", np.float32, ["B", len(PARAMS)]), [1] * len(PARAMS), 1)
        random = graph.input("random", np.float32, ["B", self.random_columns])
        history = graph.input("history", np.int32, ["B", HISTORY_FRAMES, columns])
        frame_count = graph.input("frame_count", np.int32, ["B", 1])
        repeats = Repeats(history, frame_count > 0)
        draws = _Draws(DrawParams(*params), repeats, graph.split(random, [1] * self.random_columns, 1))
        hidden = self._slow(rows, position)
        token = self._token(hidden, draws)
        row = graph.concat([token, self._codes(hidden, token, draws)], 1).cast(np.int32)
        self._outputs(row, repeats)
        self._keep(row, repeats, frame_count, active.unsqueeze(1))

    def _slow(self, rows: Value, position: Value) -> Value:
        """Run the slow transformer over one row each; returns its output [batch, 1, width] before the final norm."""
        config = self.weights.config
        slow = CachedTransformer(LayerStack(config.slow, self.weights.arrays, "slow.", config.max_positions))
        return slow.step(self.weights.embed(rows.unsqueeze(1)), position)

    def _token(self, hidden: Value, draws: _Draws) -> Value:
        """Draw the next token int64 [batch, 1] from the part of the head that is kept."""
        arrays, kept = self.weights.arrays, self._kept_ids
        name = "embeddings.weight" if self.weights.config.is_tied else "output.weight"
        normed = rms_norm(hidden, arrays, "norm", self.weights.config.slow.norm_eps).squeeze(1)
        logits = project(normed, "output.kept", arrays[name][kept], is_head=True)
        place = draw(logits, draws.repeats.of(0, kept), draws.params, draws.uniforms[0], len(kept))
        return hidden.graph.gather(kept.astype(np.int64), place)

    def _codes(self, hidden: Value, token: Value, draws: _Draws) -> Value:
        """Draw the codes int64 [batch, codebooks] of the frame; the first one comes with the token."""
        graph, arrays, config = hidden.graph, self.weights.arrays, self.weights.config
        depth = LayerStack(config.fast, arrays, "fast.", config.codebook_count)
        fast = UnrolledTransformer(depth, token * 0)
        ids = np.arange(self.weights.drawn_codes, dtype=np.int32)
        head = arrays["fast_output.weight"][: len(ids)]
        table = functools.partial(graph.lookup, "fast_embeddings", arrays["fast_embeddings.weight"])
        start = linear(hidden, arrays, "fast_project_in") if "fast_project_in.weight" in arrays else hidden
        codes = [self._first_code(token)]
        rendered = fast.begin(graph.concat([start, table(codes[0])], 1), 2).slice(1, 1, 2)
        for column in range(2, self.weights.columns):
            if column > 2:
                rendered = fast.apply(table(codes[-1]))
            normed = rms_norm(rendered, arrays, "fast_norm", config.fast.norm_eps)
            logits = project(normed.squeeze(1), "fast_output", head, is_head=True)
            repeated = draws.repeats.of(column, ids)
            codes.append(draw(logits, repeated, draws.params, draws.uniforms[column - 1], len(ids)))
        return graph.concat(codes, 1)

    def _first_code(self, token: Value) -> Value:
        """Return the code int64 [batch, 1] that a token stands for, within the table for tokens that stand for none."""
        bounds = [np.asarray(0, np.int64), np.asarray(self.weights.config.codebook_size - 1, np.int64)]
        return token.graph.op("Clip", [token - self.weights.ids.semantic_begin, *bounds])

    def _outputs(self, row: Value, repeats: Repeats) -> None:
        graph, books = row.graph, self.weights.config.codebook_count
        token, frame = graph.split(row, [1, books], 1)
        ended = token.equals(self.weights.ids.end)
        emitted = ~ended
        if self.weights.upstream_compat:
            ended, emitted = ended & repeats.is_counted, repeats.is_counted
        graph.output("next_row_ids", row, ["B", 1 + books])
        graph.output("frame", frame, ["B", books])
        graph.output("emit", emitted.squeeze(1), ["B"])
        graph.output("done", ended.squeeze(1), ["B"])

    def _keep(self, row: Value, repeats: Repeats, frame_count: Value, active: Value) -> None:
        """Write the state of the next step; rows that take no part in this one keep theirs."""
        graph, history = row.graph, repeats.history
        shifted = graph.concat([history.slice(1, 1), row.unsqueeze(1)], 1)
        kept = graph.where((repeats.is_counted & active).unsqueeze(2), shifted, history)
        graph.output("history_out", kept, ["B", HISTORY_FRAMES, self.weights.columns])
        graph.output("frame_count_out", frame_count + active.cast(np.int32), ["B", 1])
