"""The `vocode` graph of the `fish_speech` family: frames of codes in, samples out, the past of every layer carried.

Carrying the past (0.66 MiB a stream at the size of release 1.5) was chosen by measurement over decoding again the 15
frames that a sample can depend on: with chunks of 8 frames the window takes 2.4 times as long.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.fish_speech.codec import FishCodec
from build_engines.fish_speech.codec_config import CodecConfig
from build_engines.fish_speech.graph_layers import CausalLayers
from build_engines.fish_speech.graph_past import StatePast
from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import Weights, silu
from build_engines.graph.value import Value

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class CodecWeights:
    """A codec as the arrays that its graphs are made of.

    Attributes:
        config: sizes.
        arrays: of a `FishCodec`, float32, without copies.
        tables: for each codebook the part of the latent that every code stands for.
    """

    config: CodecConfig
    arrays: Weights
    tables: tuple[Array, ...]

    @classmethod
    def of(cls, codec: FishCodec) -> "CodecWeights":
        """Take the weights of a codec."""
        arrays = {name: tensor.numpy() for name, tensor in codec.state_dict().items()}
        return cls(codec.config, arrays, tuple(table.detach().numpy() for table in codec.quantizer.tables()))


def build_vocode(graph: GraphBuilder, weights: CodecWeights) -> int:
    """Build it; returns the width of its state."""
    config = weights.config
    frames = graph.input("frames", np.int32, ["N", "F", config.codebook_count]).cast(np.int64)
    count = graph.input("count", np.int32, ["N"]).cast(np.int64)
    graph.input("is_last", np.bool_, ["N"])
    graph.input("seed", np.int32, ["N"])
    past = StatePast(graph, count)
    decoder = _Decoder(config, CausalLayers(weights.arrays, past))
    samples = decoder.head(*decoder.upsampled(_latents(frames, weights)))
    graph.output("samples", samples.reshape(0, -1), ["N", "samples"])
    past.finish()
    return past.width


def _latents(frames: Value, weights: CodecWeights) -> Value:
    """Look up the latents [N, width, 1, frames]; a code that does not exist counts as the last one that does."""
    graph, last = frames.graph, weights.config.code_count - 1
    known = graph.op("Clip", [frames, np.asarray(0, np.int64), np.asarray(last, np.int64)])
    books = graph.split(known, [1] * weights.config.codebook_count, -1)
    parts = [
        graph.gather(graph.initializer(f"codes.{book}", table), codes.squeeze(-1))
        for book, (table, codes) in enumerate(zip(weights.tables, books, strict=True))
    ]
    return graph.concat(parts, -1).transpose(0, 2, 1).unsqueeze(2)


@dataclass(frozen=True)
class _Decoder:
    config: CodecConfig
    layers: CausalLayers

    def upsampled(self, latents: Value) -> tuple[Value, int]:
        """Bring latents to the rate of spectra; returns them and their steps a frame."""
        rate = 1
        for index, factor in enumerate(reversed(self.config.downsample_factors)):
            latents = self.layers.upsample(latents, f"quantizer.upsample.{index}.0", rate, factor)
            rate *= factor
            latents = self.layers.block(latents, f"quantizer.upsample.{index}.1", rate)
        return latents, rate

    def head(self, hidden: Value, rate: int) -> Value:
        """Render samples [N, 1, 1, time]."""
        hidden = self.layers.conv(hidden, "head.conv_pre", rate)
        for stage, stride in enumerate(self.config.upsample_rates):
            hidden = self.layers.upsample(silu(hidden), f"head.ups.{stage}", rate, stride)
            rate *= stride
            hidden = self._blocks(hidden, f"head.resblocks.{stage}", rate)
        return hidden.graph.op("Tanh", [self.layers.conv(silu(hidden), "head.conv_post", rate)])

    def _blocks(self, hidden: Value, name: str, rate: int) -> Value:
        """Return the mean of the stage's residual blocks."""
        rendered = [
            self._block(hidden, f"{name}.blocks.{index}", rate) for index in range(len(self.config.block_kernels))
        ]
        total = rendered[0]
        for other in rendered[1:]:
            total = total + other
        return total / float(len(rendered))

    def _block(self, hidden: Value, name: str, rate: int) -> Value:
        for pair, dilation in enumerate(self.config.block_dilations):
            inner = self.layers.conv(silu(hidden), f"{name}.convs1.{pair}", rate, dilation=dilation)
            hidden = hidden + self.layers.conv(silu(inner), f"{name}.convs2.{pair}", rate, dilation=dilation)
        return hidden
