"""Seeded, untrained weights of the default voice's networks, under the names of the torch modules; without torch."""

import numpy as np
import numpy.typing as npt

from build_engines.networks.latent_codec_config import (
    FRONT_EXPANSION,
    FRONT_KERNEL,
    SPECTRUM_PARTS,
    LatentCodecConfig,
)
from build_engines.networks.pointer_talker_config import (
    ADVANCE_COUNT,
    MAX_DWELL,
    WINDOW,
    PointerTalkerConfig,
)
from build_engines.networks.transformer_config import TransformerConfig

Array = npt.NDArray[np.float32]


class RandomWeights:
    """Draws tensors by name from one generator, so that the same calls give the same weights."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self.tensors: dict[str, Array] = {}

    def normal(self, name: str, *shape: int, scale: float) -> None:
        """Draw a tensor."""
        self.tensors[name] = (self._generator.standard_normal(shape) * scale).astype(np.float32)

    def filled(self, name: str, width: int, value: float) -> None:
        """Set a vector to one value."""
        self.tensors[name] = np.full(width, value, np.float32)

    def linear(self, name: str, outputs: int, inputs: int, *, bias: bool = True) -> None:
        """Draw a linear map that keeps the size of its input."""
        self.normal(f"{name}.weight", outputs, inputs, scale=inputs**-0.5)
        if bias:
            self.normal(f"{name}.bias", outputs, scale=0.1)

    def norm(self, name: str, width: int) -> None:
        """Set a layer normalization to the identity."""
        self.filled(f"{name}.weight", width, 1.0)
        self.filled(f"{name}.bias", width, 0.0)

    def transformer(self, name: str, config: TransformerConfig) -> None:
        """Draw a transformer."""
        joint = (config.heads + 2 * config.kv_heads) * config.head_dim
        for layer in (f"{name}.layers.{index}" for index in range(config.layers)):
            self.filled(f"{layer}.attention_norm.weight", config.width, 1.0)
            self.linear(f"{layer}.attention.wqkv", joint, config.width, bias=config.qkv_bias)
            self.linear(f"{layer}.attention.wo", config.width, config.heads * config.head_dim, bias=False)
            self.filled(f"{layer}.ffn_norm.weight", config.width, 1.0)
            self.linear(f"{layer}.ffn.w13", 2 * config.ffn_width, config.width, bias=False)
            self.linear(f"{layer}.ffn.w2", config.width, config.ffn_width, bias=False)

    def block(self, name: str, width: int, kernel: int, expansion: int) -> None:
        """Draw a ConvNeXt block."""
        self.normal(f"{name}.dw.weight", width, 1, kernel, scale=kernel**-0.5)
        self.filled(f"{name}.dw.bias", width, 0.0)
        self.norm(f"{name}.norm", width)
        self.linear(f"{name}.pw1", expansion * width, width)
        self.linear(f"{name}.pw2", width, expansion * width)
        self.filled(f"{name}.gamma", width, 0.3)


def random_talker(config: PointerTalkerConfig, seed: int) -> dict[str, Array]:
    """Return weights that a `PointerTalker` of this configuration loads."""
    draw = RandomWeights(seed)
    slow, fast, places = config.slow.width, config.fast.width, config.phoneme_count + 1
    draw.normal("phoneme.weight", places, slow, scale=1.0)
    draw.normal("advance.weight", ADVANCE_COUNT + 1, slow, scale=0.5)
    draw.normal("dwell.weight", MAX_DWELL + 1, slow, scale=0.5)
    for index in range(len(WINDOW)):
        draw.normal(f"window.tables.{index}.weight", places, slow, scale=0.5)
        draw.normal(f"fast_window.tables.{index}.weight", places, fast, scale=0.5)
    _draw_codes(draw, "code_in", config, slow)
    _draw_codes(draw, "fast_code_in", config, fast)
    _draw_codes(draw, "code_out", config, fast)
    draw.transformer("slow", config.slow)
    draw.filled("slow_norm.weight", slow, 1.0)
    draw.linear("advance_head", ADVANCE_COUNT, slow)
    draw.linear("fast_in", fast, slow, bias=False)
    draw.normal("fast_advance.weight", ADVANCE_COUNT, fast, scale=0.5)
    draw.transformer("fast", config.fast)
    draw.filled("fast_norm.weight", fast, 1.0)
    return draw.tensors


def random_decoder(config: LatentCodecConfig, seed: int) -> dict[str, Array]:
    """Return weights for the decoder and the tail of a `LatentCodec`, and its statistics: noise around 120 Hz."""
    draw = RandomWeights(seed)
    fsq_width = config.codebook_count * len(config.levels)
    draw.linear("decoder.inlet", config.wide, fsq_width)
    for index in range(config.decoder_blocks):
        draw.block(f"decoder.wide.{index}", config.wide, 5, 3)
    draw.linear("decoder.up", config.sub_frames * config.narrow, config.wide)
    for index in range(config.refiner_blocks):
        draw.block(f"decoder.narrow.{index}", config.narrow, 7, 3)
    draw.norm("decoder.norm", config.narrow)
    draw.linear("decoder.outlet", config.feature_width, config.narrow)
    for index in range(config.tail_blocks):
        draw.block(f"tail.blocks.{index}", config.latent_width, config.tail_kernel, config.tail_expansion)
    draw.norm("tail.norm", config.latent_width)
    draw.linear("tail.head", SPECTRUM_PARTS * config.bins, config.latent_width)
    draw.tensors["mean"] = np.zeros(config.feature_width, np.float32)
    draw.tensors["mean"][-2:] = np.log(120.0), 0.5
    draw.tensors["deviation"] = np.ones(config.feature_width, np.float32)
    draw.tensors["deviation"][-2] = 0.2
    draw.tensors["tail.head.bias"] += _loudness(config.bins)
    if config.timbre_width:
        _draw_timbre(draw, config)
    return draw.tensors


def _draw_timbre(draw: RandomWeights, config: LatentCodecConfig) -> None:
    """Draw what a `TimbredTail` of this configuration loads."""
    width, spread, timbre = config.latent_width, config.tail_expansion * config.latent_width, config.timbre_width
    front = FRONT_EXPANSION * width
    draw.normal("timbre.front.dw.weight", width, 1, FRONT_KERNEL, scale=FRONT_KERNEL**-0.5)
    draw.filled("timbre.front.dw.bias", width, 0.0)
    draw.norm("timbre.front.norm", width)
    draw.linear("timbre.front.pw1", front, width)
    draw.linear("timbre.front.pw2", width, front)
    draw.linear("timbre.front.pitch", width, 2, bias=False)
    draw.linear("timbre.front.gate", width, timbre, bias=False)
    for name in ("front.tint", *(f"tints.{index}" for index in range(config.tail_blocks + 1))):
        draw.normal(f"timbre.{name}.linear.weight", 2 * width, timbre, scale=0.3 * timbre**-0.5)
    adapters = {"head": (SPECTRUM_PARTS * config.bins, width, config.head_rank)}
    for index in range(config.tail_blocks):
        adapters[f"spreads.{index}"] = (spread, width, config.timbre_rank)
        adapters[f"merges.{index}"] = (width, spread, config.timbre_rank)
    for name, (outputs, inputs, rank) in adapters.items():
        draw.linear(f"timbre.{name}.down", rank, inputs, bias=False)
        draw.linear(f"timbre.{name}.gate", rank, timbre, bias=False)
        draw.normal(f"timbre.{name}.up.weight", outputs, rank, scale=0.3 * rank**-0.5)


def _draw_codes(draw: RandomWeights, name: str, config: PointerTalkerConfig, width: int) -> None:
    books, size = config.codebook_count, int(np.prod(config.levels))
    draw.normal(f"{name}.free", books, size, width, scale=0.1)
    for index, level in enumerate(config.levels):
        draw.normal(f"{name}.per_digit.{index}", books, level, width, scale=0.3)
    draw.normal(f"{name}.linear", books, len(config.levels), width, scale=0.3)


def _loudness(bins: int) -> Array:
    """Return log magnitudes of the five spectral parts that make audible, unclipped sound of any number of bins."""
    per_part = np.zeros((SPECTRUM_PARTS, bins), np.float32)
    per_part[0] = -3.0
    per_part[[2, 3]] = -0.5
    return per_part.reshape(-1)
