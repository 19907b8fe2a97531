"""Loading of checkpoints: every tensor accounted for, and every fault told in a sentence."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from build_engines.errors import CheckpointError
from build_engines.fish_speech.checkpoint import load_checkpoint
from build_engines.fish_speech.codec_checkpoint import load_codec
from build_engines.fish_speech.codec_config import CodecConfig, codec_config
from build_engines.fish_speech.talker_checkpoint import fill_talker, load_talker, unfilled_talker
from build_engines.fish_speech.talker_config import TokenIds, talker_config, talker_config_from_json
from build_engines.fish_speech.tensor_file import tensors_from_pth

CODEC = "firefly-gan-vq-fsq-8x1024-21hz-generator.pth"


@pytest.fixture
def directory(vectors: Any, tmp_path: Path) -> Path:
    """A checkpoint directory of the tiny models, laid out as the released one."""
    for source in ("tokenizer/tokenizer.tiktoken", "tokenizer/special_tokens.json", "e2e/config.json"):
        shutil.copy(vectors.root / source, tmp_path)
    shutil.copy(vectors.root / "codec_tiny/config.json", tmp_path / "firefly.json")
    torch.save(load_file(vectors.root / "e2e/state_dict.safetensors"), tmp_path / "model.pth")
    torch.save(load_file(vectors.root / "codec_tiny/state_dict.safetensors"), tmp_path / CODEC)
    return tmp_path


def _edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def _fault(directory: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(directory)
    return str(caught.value)


def test_a_checkpoint_loads(vectors: Any, directory: Path) -> None:
    """The special ids follow from the ranks, and weights arrive unchanged."""
    loaded = load_checkpoint(directory)
    assert loaded.talker.ids == TokenIds(semantic_begin=611, end=603)
    stored = load_file(vectors.root / "e2e/state_dict.safetensors")
    torch.testing.assert_close(loaded.talker.fast_output.weight.data, stored["fast_output.weight"], rtol=0, atol=0)
    w13 = torch.cat([stored[f"layers.1.feed_forward.{part}.weight"] for part in ("w1", "w3")])
    torch.testing.assert_close(loaded.talker.slow.layers[1].ffn.w13.weight.data, w13, rtol=0, atol=0)
    assert not loaded.talker.training
    assert not loaded.codec.training


def test_release_1_5_has_exactly_the_tensors_we_expect(vectors: Any) -> None:
    """Each tensor of the real sizes is taken once; none is missing, left over or misshapen."""
    listed = vectors.json("shapes/lm_1_5.json")
    talker = unfilled_talker(talker_config(listed["config"], "config.json"), TokenIds(100012, 100004))
    fill_talker(talker, {name: torch.empty(shape, device="meta") for name, shape in listed["tensors"].items()}, "lm")
    assert sum(parameter.numel() for parameter in talker.parameters()) == listed["n_params"] == 637_921_280
    listed = vectors.json("shapes/codec_1_5.json")
    assert len(listed["tensors"]) == 547
    load_codec({name: torch.ones(1).expand(shape) for name, shape in listed["tensors"].items()}, CodecConfig(), "codec")


def test_published_sizes_follow_from_config_json(vectors: Any, tmp_path: Path) -> None:
    """Fast sizes default to the slow ones, unknown fields are ignored and a null inner width is computed."""
    values = vectors.json("shapes/lm_1_5.json")["config"]
    bare = {key: value for key, value in values.items() if not key.startswith("fast_")}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**bare, "intermediate_size": None, "new_field": 1}))
    config = talker_config_from_json(path)
    assert (config.fast.width, config.fast.kv_heads, config.fast.layers) == (1024, 2, 4)
    assert (config.slow.ffn_width, config.slow.head_dim, config.slow.rope_rounded) == (2816, 64, True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_tensors_are_widened(vectors: Any, directory: Path, dtype: torch.dtype) -> None:
    """Weights of 16 bits become the float32 numbers they stand for."""
    stored = load_file(vectors.root / "e2e/state_dict.safetensors")
    half = {f"model.{name}": tensor.to(dtype) for name, tensor in stored.items()}
    torch.save({"state_dict": half}, directory / "model.pth")
    talker = load_checkpoint(directory).talker
    np.testing.assert_array_equal(talker.norm.weight.data, stored["norm.weight"].to(dtype).float())


def test_older_spellings_load(vectors: Any) -> None:
    """Separate query, key and value matrices, a generator prefix and the old names of weight norm are understood."""
    talker = vectors.talker("lm_tiny")
    tensors = load_file(vectors.root / "lm_tiny/state_dict.safetensors")
    for layers in ("layers", "fast_layers"):
        sizes = (64, 32, 32)
        for index in range(3 if layers == "layers" else 2):
            stem = f"{layers}.{index}.attention."
            parts = tensors.pop(f"{stem}wqkv.weight").split(sizes)
            tensors.update({f"{stem}{name}.weight": part for name, part in zip(("wq", "wk", "wv"), parts, strict=True)})
    again = load_talker(tensors, talker.config, talker.ids)
    torch.testing.assert_close(again.state_dict(), talker.state_dict(), rtol=0, atol=0)
    codec = vectors.codec("codec_tiny")
    names = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}
    old = {"discriminator.weight": torch.zeros(2)}
    for name, tensor in load_file(vectors.root / "codec_tiny/state_dict.safetensors").items():
        for new_name, old_name in names.items():
            name = name.replace(new_name, old_name)  # noqa: PLW2901 - one of the two applies
        old[f"generator.{name}"] = tensor
    reloaded = load_codec(old, codec_config(vectors.json("codec_tiny/config.json")), CODEC)
    torch.testing.assert_close(reloaded.state_dict(), codec.state_dict(), rtol=0, atol=0)


def test_a_tied_head_is_the_token_table(vectors: Any) -> None:
    """With tie_word_embeddings no head is stored, and the table serves as one."""
    tensors = load_file(vectors.root / "lm_tiny/state_dict.safetensors")
    del tensors["output.weight"]
    values = {**vectors.json("lm_tiny/config.json"), "tie_word_embeddings": True}
    talker = load_talker(tensors, talker_config(values, "config.json"), TokenIds(524, 516))
    assert talker.output.weight is talker.embeddings.weight


def test_wrong_tensors_are_named(directory: Path) -> None:
    """Missing, unexpected and misshapen tensors are told in one sentence, values that are no numbers in another."""
    tensors = tensors_from_pth(directory / "model.pth")
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    del tensors["norm.weight"]
    tensors["extra.weight"] = torch.zeros(1)
    tensors["fast_norm.weight"] = torch.zeros(3)
    torch.save(tensors, directory / "model.pth")
    fault = _fault(directory)
    assert "model.pth does not fit this model (1 missing: norm.weight; 1 unexpected: extra.weight; 1 wrong:" in fault
    assert "fast_norm.weight is [3], not [32]" in fault
    tensors["fast_layers.0.ffn_norm.weight"].fill_(float("nan"))
    torch.save(tensors, directory / "model.pth")
    assert "the tensor fast_layers.0.ffn_norm.weight holds values that are not finite" in _fault(directory)


def test_a_file_that_wants_to_run_code_is_refused(directory: Path) -> None:
    """Objects other than tensors are never unpickled."""
    torch.save({"weight": nn.Linear(1, 1)}, directory / "model.pth")
    assert "holds more than tensors" in _fault(directory)


def test_damaged_weights_are_refused(directory: Path) -> None:
    """A truncated file, a text file, an empty table, numbers and integer tensors each give a sentence."""
    path = directory / "model.pth"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"<html>not found</html>", b""):
        path.write_bytes(content)
        assert "is not a readable torch checkpoint" in _fault(directory)
    for loaded, fault in (
        ({}, "holds no table of named tensors"),
        ([1, 2], "holds no table of named tensors"),
        ({"step": 3}, "the entry 'step' is a int, not a named tensor"),
        ({"w": torch.zeros(1, dtype=torch.int8)}, "the tensor w is int8; float32, bfloat16 or float16 belongs there"),
    ):
        torch.save(loaded, path)
        assert fault in _fault(directory)


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"model_type": "llama"}, 'its `model_type` must be "dual_ar"'),
        ({"n_layer": "24"}, "`n_layer` is '24', where a whole number above 0 belongs"),
        ({"norm_eps": 0}, "`norm_eps` is 0, where a number above 0 belongs"),
        ({"tie_word_embeddings": 1}, "`tie_word_embeddings` is 1, where true or false belongs"),
        ({"share_codebook_embeddings": False}, "`share_codebook_embeddings` is false"),
        ({"n_head": 3}, "do not divide"),
        ({"num_codebooks": 4}, "config.json has 4 codebooks and the codec 8"),
        ({"vocab_size": 1000}, "a vocabulary of 1000; tokenizer.tiktoken is of another release"),
    ],
)
def test_wrong_settings_are_named(directory: Path, values: dict[str, object], fault: str) -> None:
    """Each unusable field of config.json is told by name."""
    _edit(directory / "config.json", **values)
    assert fault in _fault(directory)


def test_missing_and_doubled_files_are_named(directory: Path) -> None:
    """Files to download are listed; two codecs are one too many."""
    shutil.copy(directory / CODEC, directory / "firefly-other.pth")
    assert "holds 2 codecs" in _fault(directory)
    for path in (directory / "firefly-other.pth", directory / CODEC, directory / "config.json"):
        path.unlink()
    assert f"lacks config.json, {CODEC}." in _fault(directory)


def test_broken_text_files_are_named(directory: Path) -> None:
    """A tokenizer that does not fit, and files that are not JSON, each give a sentence."""
    tokens = directory / "special_tokens.json"
    _edit(tokens, **{"<|semantic:3|>": 5})
    assert "gives <|semantic:3|> the id 5, but 614 follows from the 599 ranks" in _fault(directory)
    for name in ("special_tokens.json", "config.json"):
        (directory / name).write_text("{")
        assert f"{name} is not JSON" in _fault(directory)


def test_broken_rank_and_codec_files_are_named(directory: Path) -> None:
    """Torn or missing ranks, a token list and a codec description of the wrong kind each give a sentence."""
    ranks = directory / "tokenizer.tiktoken"
    lines = ranks.read_bytes().splitlines()
    (directory / "special_tokens.json").write_text("[]")
    assert "is not a map of tokens to ids" in _fault(directory)
    ranks.write_bytes(b"\n".join(lines[1:]))
    assert "The 598 ranks of tokenizer.tiktoken are not 0 to 597" in _fault(directory)
    ranks.write_bytes(b"\n\n".join([*lines[:2], b"?"]))
    assert "Line 5 of tokenizer.tiktoken is not a base64 byte string and a rank" in _fault(directory)
    (directory / "firefly.json").write_text("{}")
    assert "firefly.json does not describe a codec" in _fault(directory)
