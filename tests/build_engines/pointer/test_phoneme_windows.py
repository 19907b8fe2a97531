"""The phonemes around a pointer, before and after it moves."""

import numpy as np
import torch

from build_engines.graph.builder import GraphBuilder
from build_engines.networks.pointer_talker import PhonemeWindow
from build_engines.networks.pointer_talker_config import WINDOW
from build_engines.pointer.phoneme_windows import FARTHEST_MOVE, PhonemeWindows
from tests.build_engines.graph.graph_session import run_graph

PHONEMES = 50


def test_windows_equal_the_networks_at_every_pointer_and_move() -> None:
    """From the first phoneme to one behind the last, in prompts of any length, and after every move."""
    longest = 6
    places = [(count, at, move) for count in range(longest + 1) for at in range(count + 1) for move in range(3)]
    count, pointer, move = np.asarray(places, np.int64).T[:, :, None]
    prompt = np.random.default_rng(0).integers(0, PHONEMES, (len(places), longest))
    graph = GraphBuilder("windows")
    entries = [graph.input(name, np.int64, ["N", 1]) for name in ("count", "pointer", "move")]
    windows = PhonemeWindows(graph.input("prompt", np.int64, ["N", "P"]), *entries[:2], PHONEMES)
    graph.output("before", windows.before(), ["N", 5])
    graph.output("after", windows.after(entries[2]), ["N", 5])

    made = run_graph(graph, count=count, pointer=pointer, move=move, prompt=prompt)
    assert move.max() == FARTHEST_MOVE
    for window, at in zip(made, (pointer, pointer + move), strict=True):
        np.testing.assert_array_equal(window, expected(prompt, count, at))


def expected(prompt: np.ndarray, count: np.ndarray, pointer: np.ndarray) -> np.ndarray:
    """What the torch network looks up: its tables are made to return the phoneme itself, one place a column."""
    network = PhonemeWindow(PHONEMES, len(WINDOW))
    for place, table in enumerate(network.tables):
        weight = torch.zeros(PHONEMES + 1, len(WINDOW))
        weight[:, place] = torch.arange(PHONEMES + 1)
        table.load_state_dict({"weight": weight})
    with torch.no_grad():
        found = network(torch.from_numpy(prompt), torch.from_numpy(count[:, 0]), torch.from_numpy(pointer))
    return np.asarray(found[:, 0], np.int64)
