"""The additions to the tail that make it speak in several voices, as nodes of the graph; see `networks.timbre`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import Weights, gelu, layer_norm, linear
from build_engines.graph.value import Value
from build_engines.networks.latent_codec_config import MIDDLE_LOG_F0, PITCH_NUMBERS, LatentCodecConfig
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.convnext import depthwise
from build_engines.vocoder.geometry import VocoderGeometry
from build_engines.vocoder.spectral_head import Spectra, spectral_head

_FRONT = "timbre.front"
_STEERED = (".linear.weight", ".gate.weight")


@dataclass(frozen=True)
class Timbre:
    """The voices of the items of a call.

    Attributes:
        weights: of a `LatentCodec` of several voices.
        steered: what the voice vectors make of scales, shifts and gates, float32 [N, 1, 1, channels], by weight.
        stretch, move: what they do to the log pitch, float32 [N, 1, 1, 1].
    """

    weights: Weights
    steered: Mapping[str, Value]
    stretch: Value
    move: Value

    @classmethod
    def of(cls, graph: GraphBuilder, config: LatentCodecConfig, weights: Weights) -> "Timbre":
        """Declare the input `voice`, and multiply it by everything that it steers, in one product."""
        voice = graph.input("voice", np.float32, ["N", config.voice_width])
        timbre, stretch, move = graph.split(voice.unsqueeze(1, 2), [config.timbre_width, *[1] * PITCH_NUMBERS], -1)
        names = [name for name in weights if name.startswith("timbre.") and name.endswith(_STEERED)]
        matrix = graph.concat([graph.weight(name, weights[name]) for name in names], 0)
        parts = graph.split(timbre @ matrix.transpose(1, 0), [len(weights[name]) for name in names], -1)
        return cls(weights, dict(zip(names, parts, strict=True)), stretch, move)

    def pitch(self, log_f0: Value) -> Value:
        """Return the log pitch of the voices."""
        return log_f0 * (self.stretch + 1.0) + self.move

    def front(self, latent: Value, log_f0: Value, is_voiced: Value, state: CarriedState, rate: int) -> Value:
        """Reshape the latent [N, time, 1, width] before the tail, told the pitch and voicing [N, time, 1, 1]."""
        width, _, kernel = self.weights[f"{_FRONT}.dw.weight"].shape
        voiced = is_voiced.cast(np.float32)
        pitch = latent.graph.concat([voiced * (log_f0 - MIDDLE_LOG_F0), voiced], -1)
        mixed = depthwise(state.join(latent, kernel - 1, rate, width), self.weights, f"{_FRONT}.dw")
        tinted = self._tinted(layer_norm(mixed, self.weights, f"{_FRONT}.norm"), f"{_FRONT}.tint")
        told = tinted + linear(pitch, self.weights, f"{_FRONT}.pitch")
        update = linear(gelu(linear(told, self.weights, f"{_FRONT}.pw1")), self.weights, f"{_FRONT}.pw2")
        return latent + update * self.steered[f"{_FRONT}.gate.weight"]

    def update(self, mixed: Value, name: str, index: int) -> Value:
        """Return what a block of the tail adds to its input.

        Args:
            mixed: float32 [N, time, 1, width], the depthwise convolution of its input.
            name: of its weights.
            index: its place in the tail.
        """
        normed = self._tinted(layer_norm(mixed, self.weights, f"{name}.norm"), f"timbre.tints.{index}")
        spread = gelu(self._adapted(normed, f"{name}.pw1", f"timbre.spreads.{index}"))
        return self._adapted(spread, f"{name}.pw2", f"timbre.merges.{index}", f"{name}.gamma")

    def head(self, hidden: Value, index: int, geometry: VocoderGeometry) -> Spectra:
        """Return the spectra; `index` counts the blocks before the head."""
        normed = self._tinted(layer_norm(hidden, self.weights, "tail.norm"), f"timbre.tints.{index}")
        both = self._with_directions(normed, "timbre.head")
        return spectral_head(
            both, self.weights, ("tail.head.weight", "timbre.head.up.weight"), "tail.head.bias", geometry
        )

    def _tinted(self, channels: Value, name: str) -> Value:
        """Scale and shift channels [N, time, 1, width]."""
        both = self.steered[f"{name}.linear.weight"]
        half = len(self.weights[f"{name}.linear.weight"]) // 2
        scale, shift = channels.graph.split(both, [half, half], -1)
        return channels * (scale + 1.0) + shift

    def _adapted(self, channels: Value, name: str, adapter: str, gamma: str | None = None) -> Value:
        """Apply the linear map `name` with its update: the directions are further inputs of a wider matrix."""
        graph, names = channels.graph, (f"{name}.weight", f"{adapter}.up.weight")
        matrix = graph.concat([graph.weight(part, self.weights[part]) for part in names], 1)
        bias = graph.weight(f"{name}.bias", self.weights[f"{name}.bias"])
        if gamma is not None:  # merged when the graph is loaded
            scale = graph.weight(gamma, self.weights[gamma])
            matrix, bias = matrix * scale.unsqueeze(1), bias * scale
        return self._with_directions(channels, adapter) @ matrix.transpose(1, 0) + bias

    def _with_directions(self, channels: Value, adapter: str) -> Value:
        """Put the directions of an adapter, weighed by the voices, behind the channels."""
        directions = linear(channels, self.weights, f"{adapter}.down") * self.steered[f"{adapter}.gate.weight"]
        return channels.graph.concat([channels, directions], -1)
