"""The `step` graph of the `pointer` family: one frame for every row, sampling, depth loop and stop rule inside."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.cached_transformer import CachedTransformer
from build_engines.graph.layer_stack import LayerStack
from build_engines.graph.layers import Weights, linear, project, rms_norm
from build_engines.graph.sampling import sample
from build_engines.graph.storage import Storage
from build_engines.graph.unrolled_transformer import UnrolledTransformer
from build_engines.graph.value import Value
from build_engines.networks.pointer_talker_config import ADVANCE_COUNT, ROW_COLUMNS, WINDOW, PointerTalkerConfig
from build_engines.pointer.phoneme_windows import PhonemeWindows
from build_engines.pointer.row_table import RowTable
from build_engines.pointer.stop_rule import StopRule

PARAMS = ("temperature", "top_p", "advance_temperature", "advance_top_p")


@dataclass(frozen=True)
class PointerStep:
    """Makes the graph.

    Attributes:
        config: sizes of the talker.
        weights: of `fold_talker`.
        position_count: positions of the longest segment.
        rule: where the pointer may go and when speech ends.
    """

    config: PointerTalkerConfig
    weights: Weights
    position_count: int
    rule: StopRule

    @property
    def columns(self) -> int:
        """Columns of a row."""
        return len(ROW_COLUMNS) + self.config.codebook_count

    @property
    def random_columns(self) -> int:
        """Uniform numbers of one step: one for the advance, one for each code."""
        return 1 + self.config.codebook_count

    def graph(self, storage: Storage) -> GraphBuilder:
        """Build it."""
        graph = GraphBuilder("step", storage)
        rows = graph.input("row_ids", np.int32, ["B", self.columns]).cast(np.int64)
        position = graph.input("position", np.int32, ["B"])
        prompt = graph.input("prompt", np.int32, ["B", "P"]).cast(np.int64)
        count = graph.input("prompt_count", np.int32, ["B"]).cast(np.int64).unsqueeze(1)
        params = graph.split(graph.input("params", np.float32, ["B", len(PARAMS)]), [1] * len(PARAMS), 1)
        random = graph.input("random", np.float32, ["B", self.random_columns])
        draws = graph.split(random, [1] * self.random_columns, 1)
        pointer, dwell = rows.slice(1, 2, 3), rows.slice(1, 3, 4)
        windows = PhonemeWindows(prompt, count, pointer, self.config.phoneme_count)
        hidden = self._slow(rows, windows.before(), position)
        last, frame_index = count - 1, position.cast(np.int64).unsqueeze(1) - count
        logits = linear(hidden.squeeze(1), self.weights, "advance_head")
        logits = self.rule.allowed(logits, pointer, dwell, last, frame_index)
        advance = sample(logits, params[2], params[3], draws[0], ADVANCE_COUNT)
        move = self.rule.move(advance)
        pointer, dwell = pointer + move, self.rule.held(advance, dwell)
        codes = self._codes(hidden, windows.after(move), advance, (params[0], params[1]), draws[1:])
        self._outputs(codes, advance, pointer, dwell, self.rule.done(advance, pointer, dwell, last))
        return graph

    def _slow(self, rows: Value, window: Value, position: Value) -> Value:
        """Run the slow transformer over one frame row each; returns its normed output [batch, 1, width]."""
        table = RowTable(self.config, self.weights["code_out.0"].shape[0])
        hidden = table.embed_frames(rows, window, rows.graph.weight("rows", self.weights["rows"]))
        slow = CachedTransformer(LayerStack(self.config.slow, self.weights, "slow.", self.position_count))
        return rms_norm(slow.step(hidden, position), self.weights, "slow_norm", self.config.slow.norm_eps)

    def _codes(
        self, hidden: Value, window: Value, advance: Value, params: tuple[Value, Value], draws: list[Value]
    ) -> Value:
        """Sample the codes int64 [batch, codebooks] of the frame, one codebook after the other."""
        graph, codes = hidden.graph, []
        stack = LayerStack(self.config.fast, self.weights, "fast.", self.config.codebook_count)
        fast = UnrolledTransformer(stack, advance * 0)
        entering = self._fast_start(hidden, window, advance)
        for book, draw in enumerate(draws):
            normed = rms_norm(fast.apply(entering), self.weights, "fast_norm", self.config.fast.norm_eps)
            matrix = self.weights[f"code_out.{book}"]
            logits = project(normed.squeeze(1), f"code_out.{book}", matrix)
            codes.append(sample(logits, *params, draw, matrix.shape[0]))
            if book + 1 < len(draws):
                name = f"fast_code_in.{book}"
                entering = graph.gather(graph.weight(name, self.weights[name]), codes[-1])
        return graph.concat(codes, 1)

    def _fast_start(self, hidden: Value, window: Value, advance: Value) -> Value:
        """Return the fast transformer's first input [batch, 1, width]."""
        graph, per_place = hidden.graph, self.config.phoneme_count + 1
        around = window + np.arange(len(WINDOW))[None] * per_place
        indices = graph.concat([around, advance + len(WINDOW) * per_place], 1)
        summed = graph.gather(graph.weight("fast_rows", self.weights["fast_rows"]), indices).sum(1, keep=True)
        return linear(hidden, self.weights, "fast_in") + summed

    def _outputs(self, codes: Value, advance: Value, pointer: Value, dwell: Value, done: Value) -> None:
        graph = codes.graph
        kind = graph.op("Sub", [pointer, pointer]) - 1
        row = graph.concat([kind, advance, pointer, dwell, codes], 1).cast(np.int32)
        graph.output("next_row_ids", row, ["B", self.columns])
        graph.output("frame", row.slice(1, len(ROW_COLUMNS)), ["B", self.config.codebook_count])
        ended = done.squeeze(1)
        graph.output("emit", ~ended, ["B"])
        graph.output("done", ended, ["B"])
