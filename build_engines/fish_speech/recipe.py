"""How the weights of a Fish Speech bundle are kept, and how far its graphs may be from torch with the same weights."""

from dataclasses import dataclass

from build_engines.graph.storage import Storage


@dataclass(frozen=True)
class FishStorage:
    """How the weights of talker and codec are kept."""

    talker: Storage = Storage.FLOAT32
    codec: Storage = Storage.FLOAT32


@dataclass(frozen=True)
class FishTolerance:
    """The largest errors that a bundle may have.

    Attributes:
        cache_error: of a key or value, relative to the largest of its layer.
        draw_share: share of draws, and of encoded codes, that torch would have made otherwise.
        sample_error: of a sample, relative to the loudest.
        rounded_input_error: of all keys and values of a layer together, or all samples, relative to their norm, where
            products round their inputs.
    """

    cache_error: float = 1e-4
    draw_share: float = 0.01
    sample_error: float = 1e-4
    rounded_input_error: float = 0.1


FISH_TOLERANCE = FishTolerance()
"""For every storage: rounding of weights is part of the reference, so that it need not be allowed for.

Rounding the inputs of a product to 8 bits changes its result by 0.6 %. A difference of one float bit can turn a number
over to the next, which grows from layer to layer, so torch that rounds as well is followed only roughly; a processor
without 8-bit products does not round at all. A hundred products of independent errors make 6 %.
"""
