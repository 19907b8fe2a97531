"""The stop rule in the graph against the same in words."""

import itertools

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.networks.pointer_talker_config import ADVANCE_COUNT, END_ADVANCE
from build_engines.pointer.stop_rule import StopRule
from build_engines.verification.reference_draw import blocked_advances, moved
from tests.build_engines.graph.graph_session import run_graph

RULE = StopRule(end_dwell=12, min_frames=2, hold_limit=80)


def test_every_place_blocks_what_the_reference_blocks() -> None:
    """For each pointer, dwell, end of the text and frame number, the graph allows the advances that the rule allows."""
    graph = GraphBuilder("rule")
    names = ("pointer", "dwell", "last", "frame_index")
    entries = [graph.input(name, np.int64, ["N", 1]) for name in names]
    logits = graph.input("logits", np.float32, ["N", ADVANCE_COUNT])
    graph.output("allowed", RULE.allowed(logits, *entries), ["N", ADVANCE_COUNT])
    places = np.asarray(list(itertools.product(range(6), (0, 80, 81), range(6), (0, 1, 2, 9))))
    feeds = {name: places[:, [column]] for column, name in enumerate(names)}

    allowed = run_graph(graph, logits=np.zeros((len(places), ADVANCE_COUNT), np.float32), **feeds)[0]
    for place, row in zip(places, allowed, strict=True):
        assert list(np.flatnonzero(row < 0)) == blocked_advances(RULE, *(int(value) for value in place))
        assert (row == 0).any()


def test_pointer_and_dwell_move_with_the_halves_of_a_frame() -> None:
    """An advance in the first half leaves one half frame of dwell, one in the second none; the end moves nothing."""
    graph = GraphBuilder("rule")
    entries = [graph.input(name, np.int64, ["N", 1]) for name in ("advance", "pointer", "dwell", "last")]
    advance, before, held_before, last = entries
    pointer, dwell = before + RULE.move(advance), RULE.held(advance, held_before)
    for name, value in (("pointer_out", pointer), ("dwell_out", dwell)):
        graph.output(name, value, ["N", 1])
    graph.output("done", RULE.done(advance, pointer, dwell, last), ["N", 1])
    cases = np.asarray(list(itertools.product(range(ADVANCE_COUNT), (0, 4), (0, 7, 11), (4, 9))))
    feeds = {name: cases[:, [column]] for column, name in enumerate(("advance", "pointer", "dwell", "last"))}

    pointers, dwells, done = run_graph(graph, **feeds)
    for row, (advance, start, held, last) in enumerate(cases.tolist()):
        expected = moved(advance, start, held)
        assert (pointers[row, 0], dwells[row, 0]) == expected
        assert done[row, 0] == (advance == END_ADVANCE or (expected[0] >= last and expected[1] > RULE.end_dwell))
