"""The additions to the tail that make it speak in several voices, as nodes of the graph; see `networks.timbre`."""

from dataclasses import dataclass

import numpy as np

from build_engines.graph.layers import Weights, gelu, layer_norm, linear
from build_engines.graph.value import Value
from build_engines.networks.latent_codec_config import MIDDLE_LOG_F0


@dataclass(frozen=True)
class Timbre:
    """The timbres of the items of a call.

    Attributes:
        weights: of a `LatentCodec` of several voices.
        vector: float32 [N, timbre width]; a row of zeros adds nothing.
    """

    weights: Weights
    vector: Value

    def update(self, mixed: Value, block: str, index: int) -> Value:
        """Return what block `block` of the tail, the `index`th, adds to its input, before its scale `gamma`.

        Args:
            mixed: float32 [N, time, width], the depthwise convolution of its input.
            block: name of its weights.
            index: its place in the tail.
        """
        normed = self.tinted(layer_norm(mixed, self.weights, f"{block}.norm"), f"timbre.tints.{index}")
        spread = linear(normed, self.weights, f"{block}.pw1") + self._adapted(normed, f"timbre.spreads.{index}")
        spread = gelu(spread)
        return linear(spread, self.weights, f"{block}.pw2") + self._adapted(spread, f"timbre.merges.{index}")

    def head(self, hidden: Value, index: int) -> Value:
        """Return the spectra; `index` counts the blocks before the head."""
        normed = self.tinted(layer_norm(hidden, self.weights, "tail.norm"), f"timbre.tints.{index}")
        return linear(normed, self.weights, "tail.head") + self._adapted(normed, "timbre.head")

    def front(self, latent: Value, mixed: Value, log_f0: Value, is_voiced: Value) -> Value:
        """Reshape the latent before the tail.

        Args:
            latent: float32 [N, time, width].
            mixed: the depthwise convolution of it.
            log_f0: float32 [N, time, 1], of the voice.
            is_voiced: bool [N, time, 1].
        """
        graph, voiced = latent.graph, is_voiced.cast(np.float32)
        pitch = graph.concat([voiced * (log_f0 - MIDDLE_LOG_F0), voiced], -1)
        normed = self.tinted(layer_norm(mixed, self.weights, "timbre.front.norm"), "timbre.front.tint")
        normed = normed + linear(pitch, self.weights, "timbre.front.pitch")
        update = linear(gelu(linear(normed, self.weights, "timbre.front.pw1")), self.weights, "timbre.front.pw2")
        return latent + update * self._per_item("timbre.front.gate")

    def tinted(self, channels: Value, name: str) -> Value:
        """Scale and shift channels [N, time, width]."""
        both = self._per_item(f"{name}.linear")
        width = self.weights[f"{name}.linear.weight"].shape[0] // 2
        scale, shift = channels.graph.split(both, [width, width], -1)
        return channels * (scale + 1.0) + shift

    def _adapted(self, channels: Value, name: str) -> Value:
        """Return what the timbre adds to the product of a matrix with `channels`."""
        directions = linear(channels, self.weights, f"{name}.down") * self._per_item(f"{name}.gate")
        return linear(directions, self.weights, f"{name}.up")

    def _per_item(self, name: str) -> Value:
        """Return a product with the vector, float32 [N, 1, outputs]."""
        return linear(self.vector, self.weights, name).unsqueeze(1)
