"""The tiny bundle and the torch networks it was made from, once per session."""

from pathlib import Path

import pytest
import torch

from build_engines.networks.latent_codec import LatentCodec
from build_engines.networks.pointer_talker import PointerTalker
from build_engines.pointer.build import PointerNetworks
from build_engines.random_weights import random_decoder, random_talker
from build_engines.tiny import TINY_CODEC, TINY_TALKER, make_tiny_bundle


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny bundle of seed 0."""
    bundle_dir = tmp_path_factory.mktemp("tiny") / "bundle"
    make_tiny_bundle(bundle_dir)
    return bundle_dir


@pytest.fixture(scope="session")
def tiny_networks() -> PointerNetworks:
    """The torch networks with the weights of the tiny bundle; its encoder, which no bundle has, is random."""
    torch.manual_seed(0)
    codec, talker = LatentCodec(TINY_CODEC), PointerTalker(TINY_TALKER)
    decoder = {name: torch.from_numpy(array) for name, array in random_decoder(TINY_CODEC, 0).items()}
    missing, unexpected = codec.load_state_dict(decoder, strict=False)
    assert not unexpected
    assert all(name.startswith("encoder.") for name in missing)
    talker.load_state_dict({name: torch.from_numpy(array) for name, array in random_talker(TINY_TALKER, 1).items()})
    return PointerNetworks(codec.eval(), talker.eval())
