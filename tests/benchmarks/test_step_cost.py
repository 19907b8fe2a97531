"""What a step has to do, counted on its graph."""

from pathlib import Path

import onnx
import pytest

from benchmarks.step_cost import Product, step_cost
from build_engines.graph.sampling import LARGEST_TOP_COUNT
from build_engines.graph.storage import Storage
from build_engines.networks.pointer_talker_config import ADVANCE_COUNT
from build_engines.networks.transformer_config import TransformerConfig
from build_engines.pointer.step import PointerStep
from build_engines.pointer.stop_rule import StopRule
from build_engines.pointer.talker_weights import fold_talker
from build_engines.random_weights import random_talker
from build_engines.tiny import TINY_TALKER
from trt_engines.manifest_loading import load_manifest

BOOKS, CODES = TINY_TALKER.codebook_count, 108


def macs_of(config: TransformerConfig) -> int:
    """Multiplications of all layers for one row."""
    heads = 2 * (config.heads + config.kv_heads) * config.head_dim
    return config.layers * config.width * (heads + 3 * config.ffn_width)


def test_the_tiny_step_is_counted_exactly(tiny_bundle: Path) -> None:
    """Products once for each use, weights once in all: the depth transformer multiplies four times by the same."""
    cost, width = step_cost(tiny_bundle, load_manifest(tiny_bundle)), TINY_TALKER.slow.width
    heads = width * (ADVANCE_COUNT + width + BOOKS * CODES)
    sums = BOOKS * LARGEST_TOP_COUNT**2 + ADVANCE_COUNT**2
    slow, fast = macs_of(TINY_TALKER.slow), macs_of(TINY_TALKER.fast)

    assert slow + BOOKS * fast + heads + sums == cost.macs_per_row
    assert 4 * (slow + fast + heads + sums) == cost.weight_bytes


def test_caches_count_both_halves_of_every_layer(tiny_bundle: Path) -> None:
    """A position has a key and a value of 16 floats in each of two layers."""
    assert 10 * 2 * 2 * 16 * 4 == step_cost(tiny_bundle, load_manifest(tiny_bundle)).cache_bytes(10)


@pytest.mark.parametrize("storage", [Storage.FLOAT16, Storage.PACKED, Storage.INT8])
def test_every_storage_has_the_same_multiplications(tiny_bundle: Path, tmp_path: Path, storage: Storage) -> None:
    """Weights are counted behind their unpacking, so that no form hides them."""
    manifest = load_manifest(tiny_bundle)
    weights = fold_talker(random_talker(TINY_TALKER, 1), TINY_TALKER)
    step = PointerStep(TINY_TALKER, weights, manifest.max_positions, StopRule(TINY_TALKER.end_dwell, 2))
    (tmp_path / "graphs").mkdir()
    onnx.save(step.graph(storage).model(), tmp_path / manifest.step.graph)

    assert step_cost(tiny_bundle, manifest).macs_per_row == step_cost(tmp_path, manifest).macs_per_row


@pytest.mark.parametrize("is_narrow", [False, True])
def test_a_product_can_be_run_in_its_shape(is_narrow: bool) -> None:
    """What is timed gives a result of the product's size for each of its copies."""
    made = Product(128, 96, is_narrow).work(3)()

    assert isinstance(made, list)
    assert [(3, 96)] * 16 == [output.shape for output in made]
