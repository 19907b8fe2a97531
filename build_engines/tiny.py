"""The tiny bundle: a seeded, untrained voice of a few hundred kilobytes with the contract of the real one.

It speaks noise, but any text, in a few milliseconds a step, and always ends: tests run a true engine on it.
"""

from pathlib import Path
from typing import Any

from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.networks.pointer_talker_config import PointerTalkerConfig
from build_engines.networks.transformer_config import TransformerConfig
from build_engines.phoneme_vocabulary import PHONEME_COUNT
from build_engines.pointer.bundle import PointerBundle
from build_engines.random_weights import random_decoder, random_talker
from trt_engines.manifest import Manifest

TINY_CODEC = LatentCodecConfig(
    levels=(4, 3, 3, 3),
    latent_width=32,
    wide=32,
    narrow=32,
    encoder_blocks_narrow=1,
    encoder_blocks_wide=1,
    decoder_blocks=1,
    refiner_blocks=1,
    tail_blocks=1,
    tail_expansion=2,
    bins=121,
    hop_samples=60,
    timbre_width=2,
    timbre_rank=4,
    head_rank=4,
)
TINY_TALKER = PointerTalkerConfig(
    slow=TransformerConfig(32, 2, 2, 1, 16, 64),
    fast=TransformerConfig(32, 1, 2, 2, 16, 64),
    levels=TINY_CODEC.levels,
    phoneme_count=PHONEME_COUNT,
)
_VOICES: dict[str, dict[str, Any]] = {
    "tiny": {"language_codes": ["en-US"], "gender": "neutral", "description": "An untrained voice for tests: noise."},
    "tiny-two": {
        "language_codes": ["en-US"],
        "gender": "neutral",
        "description": "Another noise, higher in pitch.",
        "vector": [1.0, -0.5, 0.1, 0.25],
    },
}


def make_tiny_bundle(bundle_dir: Path, seed: int = 0) -> Manifest:
    """Write the tiny bundle: the same bytes for the same seed, 24 kHz, 240 samples a frame, look-ahead 2 frames."""
    bundle = PointerBundle(
        bundle_id="antiphon-tiny",
        codec=TINY_CODEC,
        codec_weights=random_decoder(TINY_CODEC, seed),
        talker=TINY_TALKER,
        talker_weights=random_talker(TINY_TALKER, seed + 1),
        voices=_VOICES,
    )
    return bundle.write(bundle_dir)
