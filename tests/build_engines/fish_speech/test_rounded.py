"""Bundles of rounded weights: proven against torch with the same rounding, refused when they hold anything else."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from benchmarks.fish_random_checkpoint import SMALL, write_random_checkpoint
from build_engines.errors import ParityError
from build_engines.fish_speech.build import FishBuild
from build_engines.fish_speech.bundle import FishBundle
from build_engines.fish_speech.checkpoint import FishCheckpoint, load_checkpoint
from build_engines.fish_speech.codec_config import CodecConfig
from build_engines.fish_speech.graph_layers import joined_kernel, spread_kernel
from build_engines.fish_speech.recipe import FishStorage
from build_engines.fish_speech.rounded import rounded_checkpoint
from build_engines.fish_speech.rounded_inputs import rounded_inputs, through_blocks
from build_engines.fish_speech.verify import FishVerifier
from build_engines.graph.storage import Storage
from build_engines.verification.graph_runner import has_rounded_inputs
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest

WIDE = {**SMALL, "dim": 256, "head_dim": 64, "intermediate_size": 512}
"""The smallest talker whose every matrix is worth blocks; of the codec some are."""
WIDE_CODEC = CodecConfig(depths=(1, 1, 1, 1), widths=(16, 24, 32, 128), head_width=64)

CACHES, SAMPLES = "prompts of 29 and 11 rows: caches", "12 frames: samples"
SHIPPED = "inputs of products rounded: "


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> FishCheckpoint:
    """Random networks of matrices large enough for blocks; the codec's scales are not all one."""
    directory = tmp_path_factory.mktemp("wide")
    write_random_checkpoint(directory, WIDE, WIDE_CODEC)
    loaded = load_checkpoint(directory)
    for name, parameter in loaded.codec.named_parameters():
        if name.endswith("gamma"):
            parameter.data.copy_(torch.linspace(-1.5, 1.5, len(parameter)))
    return loaded


@pytest.fixture(scope="module")
def proven(checkpoint: FishCheckpoint, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Storage], Path]:
    """Builds and proves the bundle of a storage, once."""

    @functools.cache
    def build(storage: Storage) -> Path:
        directory = tmp_path_factory.mktemp(storage)
        FishBuild(directory, storage=storage, codec_storage=storage).write_proven(checkpoint, directory)
        return directory

    return build


@pytest.mark.parametrize("storage", [Storage.FLOAT16, Storage.PACKED, Storage.INT8, Storage.INT4])
def test_every_storage_is_proven_at_the_tolerances_of_floats(
    proven: Callable[[Storage], Path], storage: Storage
) -> None:
    """Nothing that rounding does has to be allowed for; what ships is followed as far as it rounds its inputs."""
    errors = {result.case: result.worst_error for result in load_manifest(proven(storage)).verification}
    assert errors[CACHES] < 1e-5
    assert errors[SAMPLES] < 1e-4
    assert errors["prompts of 29 and 11 rows: share of other draws"] == 0
    assert errors["whole and cut into calls of 1 and 5 frames"] == 0
    has_blocks = storage in (Storage.INT8, Storage.INT4)
    assert has_rounded_inputs(proven(storage) / "graphs/step.onnx") == has_blocks
    assert {f"{SHIPPED}caches", f"{SHIPPED}samples"} <= errors.keys() if has_blocks else len(errors) == 5


def test_more_bits_cost_less(proven: Callable[[Storage], Path]) -> None:
    """The report says by each measure that 8 bits are nearer to float32 than 4; float32 has none."""
    costs = {
        storage: {(item.part, item.measure): item.value for item in load_manifest(proven(storage)).quality}
        for storage in (Storage.FLOAT32, Storage.INT8, Storage.INT4)
    }
    eight, four = costs[Storage.INT8], costs[Storage.INT4]
    assert costs[Storage.FLOAT32] == {}
    assert eight.keys() == four.keys()
    for measure in ("mean squared error", "divergence, nats"):
        assert 0 < eight["talker", f"codes logits: {measure}"] < four["talker", f"codes logits: {measure}"]
    assert 0 < eight["codec", "mel distance, dB"] < four["codec", "mel distance, dB"]
    assert four["talker", "token logits: cosine"] < eight["talker", "token logits: cosine"] < 1


@pytest.fixture(scope="module")
def four_bits(checkpoint: FishCheckpoint, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    """A bundle of 4 bits, not proven yet."""
    directory = tmp_path_factory.mktemp("four")
    bundle = FishBundle("fish-test", checkpoint, storage=Storage.INT4, codec_storage=Storage.INT8)
    return directory, bundle.write(directory)


@pytest.mark.parametrize(
    ("graph", "tensor", "case"),
    [
        ("prefill", "slow.layers.0.ffn.w1.packed", "caches"),
        ("step", "slow.layers.0.attention.wqkv.weight.scales", "caches"),
        ("step", "fast.layers.0.ffn.w2.weight.scales", "share of other draws"),
        ("vocode", "head.conv_pre.kernel.scales", "samples"),
    ],
)
def test_a_corrupted_weight_is_refused(
    checkpoint: FishCheckpoint, four_bits: tuple[Path, Manifest], graph: str, tensor: str, case: str
) -> None:
    """One byte of a row of numbers, or the scales, that are not what rounding the checkpoint gives."""
    directory, manifest = four_bits
    path = directory / f"graphs/{graph}.onnx"
    original = path.read_bytes()
    storage = FishStorage(Storage.INT4, Storage.INT8)
    weights = FishBundle("fish-test", checkpoint).talker_weights()
    verifier = FishVerifier(directory, manifest, rounded_checkpoint(checkpoint, weights, storage), weights, storage)
    try:
        _corrupt(path, tensor)
        with pytest.raises(ParityError, match=rf"stray too far from torch: .*graphs/{_place(graph)}.onnx.*{case}"):
            verifier.verify()
    finally:
        path.write_bytes(original)


def _place(graph: str) -> str:
    """What `prefill` writes is looked at after the steps that follow it."""
    return "step" if graph == "prefill" else graph


def _corrupt(path: Path, tensor: str) -> None:
    model = onnx.load(path)
    (stored,) = (item for item in model.graph.initializer if item.name == tensor)
    array = numpy_helper.to_array(stored).copy()
    if array.dtype == np.uint8:
        array[0, 0, 0] ^= 0xFF
    else:
        array *= np.float32(1.2)
    stored.CopyFrom(numpy_helper.from_array(array, tensor))
    onnx.save(model, path)


def test_float32_is_not_copied(checkpoint: FishCheckpoint) -> None:
    """Networks that keep their bits stay the objects they are; rounding leaves the others as they were."""
    weights = FishBundle("fish-test", checkpoint).talker_weights()
    before = checkpoint.talker.output.weight.clone()
    rounded = rounded_checkpoint(checkpoint, weights, FishStorage(Storage.INT8))

    assert rounded.codec is checkpoint.codec
    assert rounded_checkpoint(checkpoint, weights, FishStorage()).talker is checkpoint.talker
    assert rounded.talker.output.weight is not checkpoint.talker.output.weight
    torch.testing.assert_close(checkpoint.talker.output.weight, before, rtol=0, atol=0)


def test_heads_that_are_tables_as_well_are_rounded_in_two_ways(checkpoint: FishCheckpoint) -> None:
    """A tied head has blocks of 8 bits where it is kept, the table float16."""
    talker = dataclasses.replace(checkpoint.talker.config, is_tied=True)
    checkpoint.talker.config, config = talker, checkpoint.talker.config
    try:
        weights = FishBundle("fish-test", checkpoint).talker_weights()
        rounded = rounded_checkpoint(checkpoint, weights, FishStorage(Storage.INT8)).talker
    finally:
        checkpoint.talker.config = config
    table, kept = rounded.embeddings.weight, torch.from_numpy(weights.kept_ids().astype(np.int64))
    assert torch.equal(table, checkpoint.talker.embeddings.weight.half().float())
    assert not torch.equal(rounded.output.weight[kept], checkpoint.talker.output.weight[kept])


def test_kernels_come_back_from_their_spread_form() -> None:
    """The two forms of a transposed convolution's kernel hold the same numbers."""
    kernel = np.random.default_rng(0).standard_normal((6, 4, 16)).astype(np.float32)
    np.testing.assert_array_equal(kernel, joined_kernel(spread_kernel(kernel, 8), 8, 6))


def test_inputs_are_rounded_by_hand() -> None:
    """Each block has the scale of its largest value; zeros stay zeros, and what is not a whole block is one."""
    values = torch.zeros(1, 6)
    values[0] = torch.tensor([127.0, 3.4, 0.0, 0.0, 254.0, 3.1])
    expected = torch.tensor([[127.0, 3.0, 0.0, 0.0, 254.0, 4.0]])
    torch.testing.assert_close(through_blocks(values, 2, -1), expected)
    torch.testing.assert_close(through_blocks(values.T, 2, 0), expected.T)


def test_inputs_are_rounded_only_inside_the_context(checkpoint: FishCheckpoint) -> None:
    """The networks themselves are not changed."""
    weights = FishBundle("fish-test", checkpoint).talker_weights()
    rows = torch.zeros(1, 3, 9, dtype=torch.long)
    with torch.no_grad():
        before = checkpoint.talker(rows)[1]
        with rounded_inputs(checkpoint, weights, FishStorage(Storage.INT8)):
            during = checkpoint.talker(rows)[1]
        after = checkpoint.talker(rows)[1]
    assert not torch.equal(before, during)
    assert torch.equal(before, after)
