"""The talker's transformers against the original's hidden states and logits."""

from typing import Any

import numpy as np
import pytest
import torch

from build_engines.networks.transformer import rope_table

MODELS = ("lm_tiny", "lm_tiny_proj")


@pytest.mark.parametrize("model", MODELS)
def test_slow_transformer_equals_the_originals(vectors: Any, model: str) -> None:
    """Embedding, every layer, the hidden state before the norm and the logits agree for a row matrix with traps."""
    talker, arrays = vectors.talker(model), vectors.arrays(f"{model}/forward")
    rows = torch.from_numpy(arrays["X"].T)[None]
    with torch.no_grad():
        np.testing.assert_allclose(talker.embed(rows)[0], arrays["embedding"], atol=1e-6)
        hidden, logits = talker(rows)
        np.testing.assert_allclose(talker.fast_project_in(hidden)[0], arrays["fast_input"], atol=2e-5)
    np.testing.assert_allclose(hidden[0], arrays["hidden_pre_norm"], atol=2e-5)
    np.testing.assert_allclose(logits[0], arrays["slow_logits"], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("model", MODELS)
def test_fast_transformer_equals_the_originals(vectors: Any, model: str) -> None:
    """The logits of every code agree, given the frame's earlier codes."""
    talker, arrays = vectors.talker(model), vectors.arrays(f"{model}/forward")
    columns = torch.from_numpy(arrays["fast_cols"]).long()
    codes = torch.from_numpy(arrays["X"])[1:-1, columns + 1].T
    with torch.no_grad():
        logits = talker.code_logits(torch.from_numpy(arrays["hidden_pre_norm"])[columns], codes)
    np.testing.assert_allclose(logits, arrays["fast_logits"], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("model", MODELS)
def test_rotary_table_is_rounded_as_the_originals(vectors: Any, model: str) -> None:
    """Cosines and sines equal the original's bfloat16 values bit for bit."""
    expected = vectors.arrays(f"{model}/forward")["rope_table"]
    cos, sin = rope_table(128, 16, 1e6, rounded=True)
    np.testing.assert_array_equal(np.stack([cos, sin], -1), expected)
