"""The prefill and step graphs on ONNX Runtime: the original's tokens and codes, one row or many."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch

from build_engines.fish_speech import sampler
from build_engines.fish_speech.prefill import build_prefill
from build_engines.fish_speech.sampler import SamplingParams
from build_engines.fish_speech.step import HISTORY_FRAMES, FishStep
from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layer_stack import rope_tables
from build_engines.networks.transformer import rope_table
from build_engines.networks.transformer_config import TransformerConfig

Array = np.ndarray[Any, Any]
CAPACITY = 128


def _session(build: Callable[[GraphBuilder], None]) -> ort.InferenceSession:
    graph = GraphBuilder("graph")
    build(graph)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # caches are not updated in place here, which it would remark on
    return ort.InferenceSession(graph.model().SerializeToString(), options, providers=["CPUExecutionProvider"])


def _run(session: ort.InferenceSession, feeds: dict[str, Array]) -> dict[str, Array]:
    names = [node.name for node in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


class Batch:
    """Some rows of prompts being spoken together."""

    def __init__(self, talker: FishTalker, prompts: list[Array], *, upstream_compat: bool = False) -> None:
        weights = TalkerWeights.of(talker, code_count=1000, upstream_compat=upstream_compat)
        self.step_session = _session(FishStep(weights).build)
        slow, row_count = talker.config.slow, len(prompts)
        shape = (row_count, slow.kv_heads, CAPACITY, slow.head_dim)
        self.kept = {f"{kind}_{i}": np.zeros(shape, np.float32) for i in range(slow.layers) for kind in "kv"}
        longest = max(map(len, prompts))
        padded = [np.pad(rows, ((0, longest - len(rows)), (0, 0))) for rows in prompts]
        feeds = {
            "row_ids": np.stack(padded)[:, :-1].astype(np.int32),
            "row_count": np.array([len(rows) - 1 for rows in prompts], np.int32),
            "position": np.zeros(row_count, np.int32),
        }
        self._keep(_run(_session(lambda graph: build_prefill(graph, weights)), {**feeds, **self.kept}))
        self.kept["history"] = np.zeros((row_count, HISTORY_FRAMES, weights.columns), np.int32)
        self.kept["frame_count"] = np.zeros((row_count, 1), np.int32)
        self.rows = np.stack([rows[-1] for rows in prompts]).astype(np.int32)
        self.positions = np.array([len(rows) - 1 for rows in prompts], np.int32)

    def _keep(self, outputs: dict[str, Array]) -> None:
        self.kept.update({name.removesuffix("_out"): array for name, array in outputs.items() if name.endswith("_out")})

    def step(self, params: Array, random: Array, active: list[bool] | None = None) -> dict[str, Array]:
        """Run one step of the active rows."""
        running = np.array(active or [True] * len(self.rows))
        feeds = {"row_ids": self.rows, "position": self.positions, "active": running}
        feeds["params"] = np.tile(params.astype(np.float32), (len(self.rows), 1))
        feeds["random"] = random.astype(np.float32)
        outputs = _run(self.step_session, {**feeds, **self.kept})
        self._keep(outputs)
        self.rows = np.where(running[:, None], outputs["next_row_ids"], self.rows)
        self.positions = self.positions + running.astype(np.int32)
        return outputs


# `lm_tiny_proj` was recorded without masking, and never with a stop.
RUNS = [
    *(("lm_tiny", run, compat) for run in ("greedy", "greedy_penalty", "stop") for compat in (False, True)),
    *(("lm_tiny_proj", run, True) for run in ("greedy", "greedy_penalty")),
]


@pytest.mark.parametrize(("model", "run", "upstream_compat"), RUNS)
def test_decoding_equals_the_originals(vectors: Any, model: str, run: str, upstream_compat: bool) -> None:
    """Tokens, codes and the end are the original's; frames are all those before the end, or in compat mode its own."""
    arrays = vectors.arrays(f"{model}/decode_{run}")
    prompt = arrays["prompt"].T
    batch = Batch(vectors.talker(model), [prompt], upstream_compat=upstream_compat)
    expected = arrays["seq"].T[len(prompt) :]
    emitted, done = [], False
    for row in expected:
        assert not done
        outputs = batch.step(arrays["params"][:3], np.full((1, len(row) - 1), 0.5))
        np.testing.assert_array_equal(outputs["next_row_ids"][0], row)
        done = bool(outputs["done"][0])
        if outputs["emit"][0]:
            emitted.append(outputs["frame"][0])
    assert done == (run == "stop")
    ours = expected[: len(expected) - done, 1:]
    np.testing.assert_array_equal(emitted, arrays["upstream_emitted_codes"].T if upstream_compat else ours)


def test_random_draws_equal_the_torch_sampler(vectors: Any) -> None:
    """Graph and torch fall on the same token and codes for the same numbers, penalty window included."""
    talker, rng = vectors.talker("lm_tiny"), np.random.default_rng(7)
    prompt = vectors.arrays("lm_tiny/decode_sampled")["prompt"].T
    values = (1.0, 0.95, 1.5)
    params = SamplingParams(*(torch.tensor([[value]]) for value in values))
    batch = Batch(talker, [prompt])
    rows = torch.from_numpy(prompt).long()
    kept = torch.from_numpy(TalkerWeights.of(talker, 1000).kept_ids()).long()
    history = torch.zeros(1, HISTORY_FRAMES, prompt.shape[1], dtype=torch.long)
    for step in range(24):
        random = torch.from_numpy(rng.random((1, 4), np.float32))
        drawn = batch.step(np.array(values), random.numpy())["next_row_ids"]
        expected = _torch_frame(talker, rows, kept, history if step else history - 1, params, random)
        np.testing.assert_array_equal(drawn[0], expected)
        history = sampler.remember(history, torch.tensor([step]), expected[None])
        rows = torch.cat([rows, expected[None]])


def _torch_frame(
    talker: FishTalker,
    rows: torch.Tensor,
    kept: torch.Tensor,
    history: torch.Tensor,
    params: SamplingParams,
    random: torch.Tensor,
) -> torch.Tensor:
    """Draw the next row with the torch modules alone; a history of -1 penalizes nothing."""

    def choose(logits: torch.Tensor, ids: torch.Tensor, column: int, uniform: torch.Tensor) -> torch.Tensor:
        repeated = sampler.repeats(history[:, :, column], ids)
        ranked = sampler.rank(sampler.penalize(logits, repeated, params.repetition_penalty), params)
        return ids[sampler.draw(ranked, uniform)]

    with torch.no_grad():
        hidden, logits = talker(rows[None])
        token = choose(logits[:, -1, kept], kept, 0, random[:, 0])
        codes = talker.first_code(token)[:, None]
        for book in range(1, talker.config.codebook_count):
            scores = talker.code_logits(hidden[:, -1], codes)[:, -1]
            code = choose(scores, torch.arange(scores.shape[1]), book + 1, random[:, book])
            codes = torch.cat([codes, code[:, None]], 1)
    return torch.cat([token, codes[0]])


def test_rows_of_a_batch_do_not_touch_each_other(vectors: Any) -> None:
    """Prompts of different lengths, one of them resting in some steps, give the frames they give alone."""
    talker, rng = vectors.talker("lm_tiny"), np.random.default_rng(3)
    long = vectors.arrays("lm_tiny/decode_sampled")["prompt"].T
    short = vectors.arrays("lm_tiny/decode_stop")["prompt"].T
    params, random = np.array([0.8, 0.9, 1.4]), rng.random((10, 2, 4), np.float32)
    alone = []
    for index, prompt in enumerate((long, short)):
        batch = Batch(talker, [prompt])
        alone.append([batch.step(params, numbers[index : index + 1])["next_row_ids"][0] for numbers in random])
    both, taken = Batch(talker, [long, short]), 0
    for step, numbers in enumerate(random):
        rests = step in (0, 2, 3)
        both.step(params, np.stack([numbers[0], random[taken][1]]), [True, not rests])
        np.testing.assert_array_equal(both.rows[0], alone[0][step])
        if not rests:
            np.testing.assert_array_equal(both.rows[1], alone[1][taken])
            taken += 1


def test_only_codes_that_exist_are_drawn(vectors: Any) -> None:
    """With fewer codes in the codec than rows in the tables, neither token nor code goes beyond them."""
    talker, rng = vectors.talker("lm_tiny"), np.random.default_rng(5)
    weights = TalkerWeights.of(talker, code_count=40)
    assert weights.kept_ids().tolist() == [*range(524, 564), 516]
    batch = Batch(talker, [vectors.arrays("lm_tiny/decode_sampled")["prompt"].T])
    batch.step_session = _session(FishStep(weights).build)
    drawn = [batch.step(np.array([1.0, 1.0, 1.0]), rng.random((1, 4)))["frame"][0] for _ in range(20)]
    assert np.max(drawn) < 40


def test_rotary_tables_equal_torchs() -> None:
    """Numpy and torch give the same bfloat16 tables over 8192 positions, but for the odd last bit."""
    config = TransformerConfig(1024, 1, 16, 2, 64, 4096, rope_base=1e6, rope_rounded=True)
    for ours, theirs in zip(rope_tables(8192, config), rope_table(8192, 64, 1e6, rounded=True), strict=True):
        assert int((ours != theirs.numpy()).sum()) <= 2
        np.testing.assert_allclose(ours, theirs, atol=4e-3)
