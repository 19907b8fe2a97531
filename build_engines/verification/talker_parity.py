"""How far the graphs `prefill` and `step` are from the torch talker, given what they have spoken."""

from dataclasses import dataclass

import numpy as np
import torch

from build_engines.networks.pointer_talker import PointerTalker
from build_engines.networks.pointer_talker_config import END_ADVANCE
from build_engines.networks.talker_trace import TalkerTrace, trace_talker
from build_engines.pointer.stop_rule import StopRule
from build_engines.verification.reference_draw import blocked_advances, moved, reference_draw
from build_engines.verification.talker_run import TalkerRun


@dataclass(frozen=True)
class TalkerParity:
    """Errors over all utterances of a run.

    Attributes:
        cache_error: largest difference of a key or value, relative to the largest of its layer.
        draw_share: share of the draws that torch would have drawn otherwise with the same number.
        broken_rules: steps whose pointer, dwell, row kind or `done` do not follow from what was drawn.
    """

    cache_error: float
    draw_share: float
    broken_rules: int


class _Tally:
    def __init__(self) -> None:
        self.cache_error = 0.0
        self.draws: list[bool] = []
        self.broken_rules = 0


def talker_parity(talker: PointerTalker, rule: StopRule, run: TalkerRun) -> TalkerParity:
    """Compare every utterance of a run, up to the step on which it was done."""
    tally = _Tally()
    for index, prompt in enumerate(run.prompts):
        ended = np.flatnonzero(run.done[:, index])
        steps = int(ended[0]) + 1 if len(ended) else len(run.done)
        rows = run.rows[: steps + 1, index]
        trace = trace_talker(talker, torch.from_numpy(prompt).long(), torch.from_numpy(rows).long())
        _compare_caches(tally, trace, run, index, len(prompt) + steps)
        for step in range(steps):
            _compare_step(tally, trace, run, (index, step), rule)
    return TalkerParity(tally.cache_error, 1 - float(np.mean(tally.draws)), tally.broken_rules)


def _compare_caches(tally: _Tally, trace: TalkerTrace, run: TalkerRun, index: int, length: int) -> None:
    for kind, layers in (("k", trace.keys), ("v", trace.values)):
        for layer, expected in enumerate(layers):
            actual = run.caches[f"{kind}_{layer}"][index, :, :length]
            difference = np.abs(actual - expected.numpy()).max() / np.abs(expected.numpy()).max()
            tally.cache_error = max(tally.cache_error, float(difference))


def _compare_step(tally: _Tally, trace: TalkerTrace, run: TalkerRun, place: tuple[int, int], rule: StopRule) -> None:
    index, step = place
    (_, _, pointer, dwell), row = (int(value) for value in run.rows[step, index, :4]), run.rows[step + 1, index]
    temperature, top_p, advance_temperature, advance_top_p = (float(value) for value in run.params[index])
    random, last = run.random[step, index], len(run.prompts[index]) - 1
    logits = trace.advance_logits[step].numpy().copy()
    logits[blocked_advances(rule, pointer, dwell, last, step)] = -np.inf
    drawn = reference_draw(logits, advance_temperature, advance_top_p, random[0])
    tally.draws.append(drawn == row[1])
    expected = moved(int(row[1]), pointer, dwell)
    is_done = row[1] == END_ADVANCE or (expected[0] >= last and expected[1] > rule.end_dwell)
    follows = (int(row[0]), int(row[2]), int(row[3])) == (-1, *expected)
    tally.broken_rules += not (follows and bool(run.done[step, index]) == is_done)
    if row[1] == END_ADVANCE:
        return
    for book, code_logits in enumerate(trace.code_logits):
        code = reference_draw(code_logits[step].numpy(), temperature, top_p, random[1 + book])
        tally.draws.append(code == row[4 + book])
