"""The sampler against the original's probabilities and choices."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from build_engines.fish_speech import sampler
from build_engines.fish_speech.sampler import Ranked, SamplingParams

CASES = [f"c{index:02}" for index in range(24)]
RUNS = [
    f"{model}/decode_{run}"
    for model in ("lm_tiny", "lm_tiny_proj")
    for run in ("greedy", "greedy_penalty", "sampled", "sampled_wide", "stop")
    if (model, run) != ("lm_tiny_proj", "stop")
]


def _params(temperature: float, top_p: float, penalty: float) -> SamplingParams:
    return SamplingParams(*(torch.tensor([[value]], dtype=torch.float32) for value in (temperature, top_p, penalty)))


def _unranked(ranked: Ranked) -> Tensor:
    return torch.zeros_like(ranked.probabilities).scatter(-1, ranked.order, ranked.probabilities)[0]


@pytest.mark.parametrize("name", CASES)
def test_distributions_equal_the_originals(vectors: Any, name: str) -> None:
    """Penalty, top-p and temperature give the recorded probabilities and the recorded choice."""
    arrays = vectors.arrays("sampler/sampler")
    case = next(case for case in vectors.json("sampler/sampler.json") if case["id"] == name)
    params = _params(case["temperature"], case["top_p"], case["repetition_penalty"])
    logits = torch.from_numpy(arrays[f"{name}_logits"])[None]
    if case["has_window"]:
        window = torch.from_numpy(arrays[f"{name}_window"])[None]
        repeated = sampler.repeats(window, torch.arange(case["vocab"]))
        logits = sampler.penalize(logits, repeated, params.repetition_penalty)
    probabilities = _unranked(sampler.rank(logits, params)).numpy()
    if f"{name}_probs_index" in arrays:
        expected = np.zeros_like(probabilities)
        expected[arrays[f"{name}_probs_index"]] = arrays[f"{name}_probs_value"]
    else:
        expected = arrays[f"{name}_probs"]
        assert int(np.argmax(probabilities / arrays[f"{name}_noise"])) == case["token"]
    np.testing.assert_allclose(probabilities, expected, atol=5e-6)
    assert int((probabilities > 0).sum()) == case["kept"] or case["temperature"] < 0.11


def _choose(probabilities: Tensor, noise: np.ndarray[Any, Any] | None, step: int) -> int:
    scores = probabilities.numpy()
    return int(np.argmax(scores if noise is None else scores / noise[step]))


@pytest.mark.parametrize("run", RUNS)
def test_decoding_chooses_the_originals_tokens_and_codes(vectors: Any, run: str) -> None:
    """With the recorded past and noise, each next token and code is the original's, the penalty window included."""
    arrays, talker = vectors.arrays(run), vectors.talker(run.split("/")[0])
    params = _params(*(float(value) for value in arrays["params"][:3]))
    prompt_count = arrays["prompt"].shape[1]
    seq = torch.from_numpy(arrays["seq"].T).long()
    with torch.no_grad():
        hidden, logits = talker(seq[None, :-1])
        drawn, codes = seq[prompt_count:], seq[prompt_count:, 1:]
        code_logits = talker.code_logits(hidden[0, prompt_count - 1 :], codes[:, :-1])
    np.testing.assert_allclose(logits[0, prompt_count - 1 :], arrays["slow_logits"], rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(code_logits[:, 1:], arrays["fast_logits"][:, 1:], rtol=1e-4, atol=2e-5)
    history = torch.zeros(1, sampler.HISTORY_FRAMES, seq.shape[1], dtype=torch.long)
    for step, row in enumerate(drawn):
        for column in [0, *range(2, seq.shape[1])]:
            scores = logits[0, prompt_count - 1 + step] if column == 0 else code_logits[step, column - 1]
            repeated = sampler.repeats(history[:, :, column], torch.arange(len(scores))) & (step > 0)
            penalized = sampler.penalize(scores[None], repeated, params.repetition_penalty)
            probabilities = _unranked(sampler.rank(penalized, params))
            noise = arrays.get("noise_slow" if column == 0 else "noise_fast")
            if noise is not None and column > 0:
                noise = noise[:, column - 2]
            assert _choose(probabilities, noise, step) == int(row[column]), (step, column)
        assert int(row[1]) == int(talker.first_code(row[0]))
        history = sampler.remember(history, torch.tensor([step]), row[None])


def test_draws_follow_the_distribution() -> None:
    """Evenly spread numbers fall on every id as often as its probability says, and never on a dropped one."""
    logits = torch.tensor([[0.0, 2.0, 1.0, -3.0]]).repeat(1000, 1)
    params = SamplingParams(torch.tensor(1.0), torch.tensor(0.996), torch.tensor(1.0))
    ranked = sampler.rank(logits, params)
    uniform = (torch.arange(1000) + 0.5) / 1000
    counts = torch.bincount(sampler.draw(ranked, uniform), minlength=4)
    expected = torch.tensor([0.0, 2.0, 1.0]).exp()
    np.testing.assert_allclose(counts[:3] / 1000, expected / expected.sum(), atol=2e-3)
    assert int(counts[3]) == 0


def test_the_largest_number_below_one_draws_a_kept_id() -> None:
    """Rounding at the end of the distribution never yields an id that top-p dropped."""
    ranked = sampler.rank(torch.tensor([[3.0, 1.0, 0.5, 0.1]]), _params(0.7, 0.9, 1.0))
    assert int(sampler.draw(ranked, torch.tensor([1 - 2**-24]))) in (0, 1)
