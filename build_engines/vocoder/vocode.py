"""The `vocode` graph of the default voice: codes -> causal decoder -> spectral tail -> source and filter -> samples."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from build_engines.graph.builder import GraphBuilder
from build_engines.graph.layers import Weights, layer_norm, linear
from build_engines.graph.storage import Storage
from build_engines.graph.value import Value
from build_engines.networks.latent_codec_config import HIGHEST_LOG_F0, LatentCodecConfig
from build_engines.pointer.talker_weights import fsq_scalars
from build_engines.vocoder.carried_state import CarriedState
from build_engines.vocoder.convnext import streamed_block
from build_engines.vocoder.geometry import VocoderGeometry
from build_engines.vocoder.source_filter import SourceFilter
from build_engines.vocoder.spectral_head import Spectra, spectral_head
from build_engines.vocoder.stream_clock import StreamClock
from build_engines.vocoder.timbre import Timbre


@dataclass(frozen=True)
class CodecVocoder:
    """Makes the graph from the decoder and the tail of a `LatentCodec`.

    Attributes:
        config: sizes of the codec.
        weights: of the checkpoint.
    """

    config: LatentCodecConfig
    weights: Weights

    @property
    def geometry(self) -> VocoderGeometry:
        """Delays and transforms."""
        return VocoderGeometry(self.config)

    def graph(self, storage: Storage) -> tuple[GraphBuilder, int]:
        """Build it; returns the graph and the width of its state."""
        graph = GraphBuilder("vocode", storage)
        frames = graph.input("frames", np.int32, ["N", "F", self.config.codebook_count]).cast(np.int64)
        count = graph.input("count", np.int32, ["N"]).cast(np.int64)
        is_last = graph.input("is_last", np.bool_, ["N"])
        seed = graph.input("seed", np.int32, ["N"]).cast(np.int64)
        state = CarriedState(graph, count)
        lags = sorted({*self.geometry.block_lags, self.geometry.tail_lag - 1})
        clock = StreamClock.of(graph, state, frames, (count, is_last), self.config.sub_frames, lags)
        latent, log_f0, is_voiced = self._decode(frames, state)
        timbre = Timbre.of(graph, self.config, self.weights) if self.config.timbre_width else None
        if timbre is not None:
            log_f0 = timbre.pitch(log_f0)
        log_f0 = graph.op("Min", [log_f0, np.asarray(HIGHEST_LOG_F0, np.float32)])
        f0_hz = graph.where(is_voiced, graph.op("Exp", [log_f0]), np.zeros(1, np.float32))
        hidden = latent * clock.inside[0]
        if timbre is not None:
            hidden = timbre.front(hidden, log_f0, is_voiced, state, self.config.sub_frames) * clock.inside[0]
        spectra = self._tail(hidden, timbre, clock, state)
        samples = SourceFilter(self.geometry).render(spectra, f0_hz, seed, clock, state)
        graph.output("samples", samples, ["N", "samples"])
        state.finish()
        return graph, state.width

    def _decode(self, frames: Value, state: CarriedState) -> tuple[Value, Value, Value]:
        """Return the latent [N, time, 1, width], the log pitch [N, time, 1, 1], and where it is voiced."""
        graph, config, weights = frames.graph, self.config, self.weights
        scalars = fsq_scalars(config.levels)
        bounded = graph.op("Clip", [frames, np.asarray(0), np.asarray(len(scalars) - 1)])
        digits = graph.gather(scalars, bounded).reshape(0, 0, 1, config.codebook_count * len(config.levels))
        hidden = linear(digits, weights, "decoder.inlet")
        for block in range(config.decoder_blocks):
            hidden = streamed_block(hidden, weights, f"decoder.wide.{block}", state, rate=1, is_causal=True)
        hidden = linear(hidden, weights, "decoder.up").reshape(0, -1, 1, config.narrow)
        for block in range(config.refiner_blocks):
            name = f"decoder.narrow.{block}"
            hidden = streamed_block(hidden, weights, name, state, rate=config.sub_frames, is_causal=True)
        hidden = linear(layer_norm(hidden, weights, "decoder.norm"), self._natural_outlet(), "decoder.outlet")
        latent, log_f0, voicing = graph.split(hidden, [config.latent_width, 1, 1], -1)
        return latent, log_f0, voicing > 0.0

    def _natural_outlet(self) -> dict[str, npt.NDArray[np.float32]]:
        """Return the decoder's outlet with the feature statistics folded in; the voicing logit stays as it is."""
        deviation, mean = self.weights["deviation"].copy(), self.weights["mean"].copy()
        deviation[-1], mean[-1] = 1.0, 0.0
        weight, bias = (self.weights[f"decoder.outlet.{part}"] for part in ("weight", "bias"))
        return {"decoder.outlet.weight": weight * deviation[:, None], "decoder.outlet.bias": bias * deviation + mean}

    def _tail(self, hidden: Value, timbre: Timbre | None, clock: StreamClock, state: CarriedState) -> Spectra:
        """Return the spectra; every block sees zeros outside the segment, as it does offline."""
        rate, blocks = self.config.sub_frames, self.config.tail_blocks
        for block, lag in enumerate(self.geometry.block_lags[1:]):
            delay, name = self.geometry.tail_delay if block + 1 == blocks else 0, f"tail.blocks.{block}"
            update = None if timbre is None else partial(timbre.update, name=name, index=block)
            hidden = streamed_block(
                hidden, self.weights, name, state, rate=rate, is_causal=False, delay=delay, update=update
            )
            hidden = hidden * clock.inside[lag]
        if timbre is not None:
            return timbre.head(hidden, blocks, self.geometry)
        normed = layer_norm(hidden, self.weights, "tail.norm")
        return spectral_head(normed, self.weights, ("tail.head.weight",), "tail.head.bias", self.geometry)
