"""Bundles that the engine tests run on, made once per session."""

import dataclasses
from pathlib import Path

import pytest

from build_engines.graph.storage import Storage
from build_engines.networks.transformer_config import TransformerConfig
from build_engines.pointer.bundle import PointerBundle
from build_engines.random_weights import random_decoder, random_talker
from build_engines.tiny import TINY_CODEC, TINY_TALKER, make_tiny_bundle
from tests.trt_engines.small_bundle import write_small_bundle


@pytest.fixture(scope="session")
def small_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small bundle with a vocoder of kind `state`."""
    bundle_dir = tmp_path_factory.mktemp("small") / "bundle"
    write_small_bundle(bundle_dir, "state")
    return bundle_dir


@pytest.fixture(scope="session")
def window_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small bundle with a vocoder of kind `window`."""
    bundle_dir = tmp_path_factory.mktemp("window") / "bundle"
    write_small_bundle(bundle_dir, "window")
    return bundle_dir


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny voice that the server's tests speak with, as `build_engines` makes it."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    make_tiny_bundle(bundle_dir)
    return bundle_dir


@pytest.fixture(scope="session")
def eight_bit_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny voice whose talker is just wide enough for 8-bit weights in blocks of 64."""
    bundle_dir = tmp_path_factory.mktemp("eight_bit") / "bundle"
    layer = TransformerConfig(64, 1, 2, 1, 32, 128)
    talker = dataclasses.replace(TINY_TALKER, slow=layer, fast=layer)
    weights = random_decoder(TINY_CODEC, 1), random_talker(talker, 2)
    PointerBundle("eight-bit", TINY_CODEC, weights[0], talker, weights[1], {}, talker_storage=Storage.INT8).write(
        bundle_dir
    )
    return bundle_dir
