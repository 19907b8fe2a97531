"""The `encode` graph of the `fish_speech` family: reference samples in, frames of codes out."""

import numpy as np

from build_engines.fish_speech.codec_config import CodecConfig
from build_engines.fish_speech.graph_layers import CausalLayers
from build_engines.fish_speech.graph_past import SilentPast
from build_engines.fish_speech.mel import LogMel
from build_engines.fish_speech.vocode import CodecWeights
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import linear
from build_engines.graph.value import Value

_POWER_FLOOR = 1e-6
_MEL_FLOOR = 1e-5
_BOUND_COUNT = 2


def build_encode(graph: GraphBuilder, weights: CodecWeights) -> None:
    """Build it. Samples are float32 [N, S], at least 769 of them; a last frame may be partial."""
    config = weights.config
    samples = graph.input("samples", np.float32, ["N", "S"])
    layers = CausalLayers(weights.arrays, SilentPast())
    features = _backbone(_log_mel(samples, config), layers, config)
    for index, factor in enumerate(config.downsample_factors):
        features = layers.conv(features, f"quantizer.downsample.{index}.0", 1, stride=factor)
        features = layers.block(features, f"quantizer.downsample.{index}.1", 1)
    codes = _codes(features.squeeze(2).transpose(0, 2, 1), weights)
    graph.output("frames", codes.cast(np.int32), ["N", "F", config.codebook_count])


def _log_mel(samples: Value, config: CodecConfig) -> Value:
    """Return the log-mel spectra [N, bands, 1, time]; see `LogMel`, whose tables these are."""
    graph = samples.graph
    mel = LogMel(config.sample_rate_hz, config.window_samples, config.hop_samples, config.bands)
    ends = np.asarray([0, 0, mel.padding, 0, 0, mel.padding], np.int64)
    padded = graph.op("Pad", [samples.unsqueeze(1), ends], mode="reflect")
    basis = graph.initializer("fourier_basis", mel.basis.numpy())
    spectrum = graph.op("Conv", [padded, basis], strides=[config.hop_samples])
    real, imaginary = graph.split(spectrum, [config.window_samples // 2 + 1] * 2, 1)
    magnitude = graph.op("Sqrt", [real * real + imaginary * imaginary + _POWER_FLOOR])
    bands = graph.initializer("mel_bands", mel.bands.numpy()) @ magnitude
    floored = graph.op("Max", [bands, np.asarray(_MEL_FLOOR, np.float32)])
    return graph.op("Log", [floored]).unsqueeze(2)


def _backbone(spectra: Value, layers: CausalLayers, config: CodecConfig) -> Value:
    """Run the ConvNeXt encoder; returns [N, width, 1, time]."""
    hidden = layers.norm(layers.conv(spectra, "backbone.downsample_layers.0.0", 1), "backbone.downsample_layers.0.1")
    for stage, depth in enumerate(config.depths):
        if stage:
            name = f"backbone.downsample_layers.{stage}"
            normed = layers.norm(hidden, f"{name}.0").squeeze(2).transpose(0, 2, 1)
            flat = {f"{name}.1.{part}": layers.weights[f"{name}.1.{part}"] for part in ("weight", "bias")}
            flat[f"{name}.1.weight"] = flat[f"{name}.1.weight"][:, :, 0]
            hidden = linear(normed, flat, f"{name}.1").transpose(0, 2, 1).unsqueeze(2)
        for index in range(depth):
            hidden = layers.block(hidden, f"backbone.stages.{stage}.{index}", 1)
    return layers.norm(hidden, "backbone.norm")


def _codes(latents: Value, weights: CodecWeights) -> Value:
    """Quantize latents [N, frames, width] to codes [N, frames, codebooks], bounding twice as the original does."""
    graph, books = latents.graph, weights.config.codebook_count
    levels = np.asarray(weights.config.levels)
    groups = graph.split(latents, [weights.config.latent_width // books] * books, -1)
    scalars = [
        linear(group, weights.arrays, f"quantizer.residual_fsq.rvqs.{book}.project_in").unsqueeze(2)
        for book, group in enumerate(groups)
    ]
    half = ((levels - 1) * 1.001 / 2).astype(np.float32)
    offset = np.where(levels % 2 == 0, 0.5, 0.0).astype(np.float32)
    shift = np.arctanh(offset / half)
    bounded = graph.concat(scalars, 2)
    for _ in range(_BOUND_COUNT):
        bounded = graph.op("Tanh", [bounded + shift]) * half - offset
    digits = graph.op("Round", [bounded]) + (levels // 2).astype(np.float32)
    basis = np.cumprod([1, *levels[:-1]]).astype(np.float32)
    return (digits * basis).sum(-1)
