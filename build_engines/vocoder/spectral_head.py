"""The last linear map of the tail: five spectra, each in the order of bins that the transforms want."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from build_engines.graph.layers import Weights
from build_engines.graph.value import Value
from build_engines.networks.latent_codec_config import SPECTRUM_PARTS
from build_engines.vocoder.geometry import VocoderGeometry


@dataclass(frozen=True)
class Spectra:
    """Spectra float32 [N, time, 1, both combs].

    Attributes:
        harmonic, noisy, free: log magnitudes of the filter on the pulses, of the noise, of what is given by itself.
        theta, phi: phases of the filter, before tanh, and of what is given by itself.
    """

    harmonic: Value
    theta: Value
    noisy: Value
    free: Value
    phi: Value


def spectral_head(
    hidden: Value, weights: Weights, matrices: Sequence[str], bias: str, geometry: VocoderGeometry
) -> Spectra:
    """Apply matrices [5 * bins, a part of the inputs] and a bias; five products save cutting up what one would give.

    The bins are brought into their order, and filled up with zeros, in the weights, when the graph is loaded.
    """
    graph, bins = hidden.graph, geometry.config.bins
    places = np.minimum(np.concatenate(geometry.combs), bins)
    stored = [graph.weight(name, weights[name]) for name in matrices]
    matrix = graph.concat(stored, 1) if len(stored) > 1 else stored[0]
    width = sum(weights[name].shape[1] for name in matrices)
    parts = []
    for part in range(SPECTRUM_PARTS):
        columns, offsets = (
            graph.gather(graph.concat([value.slice(0, part * bins, (part + 1) * bins), zeros], 0), places)
            for value, zeros in (
                (matrix, np.zeros((1, width), np.float32)),
                (graph.weight(bias, weights[bias]), np.zeros(1, np.float32)),
            )
        )
        parts.append(hidden @ columns.transpose(1, 0) + offsets)
    return Spectra(*parts)
