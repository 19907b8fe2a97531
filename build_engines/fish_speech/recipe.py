"""How far the graphs of a Fish Speech bundle may be from torch, by the storage of their weights."""

from dataclasses import dataclass

from build_engines.graph.storage import Storage


@dataclass(frozen=True)
class FishTolerance:
    """The largest errors that a bundle may have.

    Attributes:
        cache_error: of a key or value, relative to the largest of its layer.
        draw_share: share of draws, and of encoded codes, that torch would have made otherwise.
        sample_error: of a sample, relative to the loudest.
    """

    cache_error: float
    draw_share: float
    sample_error: float


FISH_TOLERANCES = {
    Storage.FLOAT32: FishTolerance(cache_error=1e-4, draw_share=0.01, sample_error=1e-4),
    Storage.FLOAT16: FishTolerance(cache_error=5e-3, draw_share=0.05, sample_error=0.03),
    Storage.PACKED: FishTolerance(cache_error=0.06, draw_share=0.25, sample_error=0.3),
    Storage.INT8: FishTolerance(cache_error=0.08, draw_share=0.3, sample_error=0.3),
}
