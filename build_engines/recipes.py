"""How each kind of bundle is proven: the corners of its graphs' shapes, and how far a graph may be from torch there."""

from dataclasses import dataclass

from build_engines.graph.storage import Storage


@dataclass(frozen=True)
class TalkerCorner:
    """One shape of `prefill` and `step`: rows, positions of the cache, prompt rows in a call of `prefill`."""

    batch: int
    capacity: int
    chunk_rows: int


@dataclass(frozen=True)
class VocoderCorner:
    """One shape of `vocode`: segments, frames in a call."""

    batch: int
    chunk_frames: int


@dataclass(frozen=True)
class Tolerance:
    """The largest errors that a bundle may have.

    Attributes:
        cache_error: of a key or value, relative to the largest of its layer.
        draw_share: share of draws that torch would have drawn otherwise with the same random number.
        sample_error: of a sample, relative to the loudest of its segment.
        spectrum_error_db: mean difference of the spectra.
        holds_phase: whether a vocoder with a pitch of its own is held to `sample_error`. Rounded weights shift the
            pitch by so little that nobody hears it, but after a second the phase of every sample is another.
    """

    cache_error: float
    draw_share: float
    sample_error: float
    spectrum_error_db: float
    holds_phase: bool


@dataclass(frozen=True)
class PointerRecipe:
    """What `verify` runs for the `pointer` family.

    Attributes:
        talker_corners, vocoder_corners: shapes.
        longest_prompt: phonemes; prompts of a batch are of any length up to it.
        steps: frames spoken of each prompt.
        vocoder_frames: frames of the longest segment. The error of a pitch adds up in the phase, so long segments
            would measure rounding only.
    """

    talker_corners: tuple[TalkerCorner, ...] = (
        TalkerCorner(1, 64, 64),
        TalkerCorner(8, 128, 7),
        TalkerCorner(32, 512, 1),
    )
    vocoder_corners: tuple[VocoderCorner, ...] = (VocoderCorner(1, 1), VocoderCorner(3, 2), VocoderCorner(8, 8))
    longest_prompt: int = 40
    steps: int = 16
    vocoder_frames: int = 20


TOLERANCES = {
    Storage.FLOAT32: Tolerance(1e-4, draw_share=0.001, sample_error=2e-3, spectrum_error_db=0.05, holds_phase=True),
    Storage.FLOAT16: Tolerance(5e-3, draw_share=0.03, sample_error=3e-2, spectrum_error_db=0.5, holds_phase=False),
    Storage.PACKED: Tolerance(0.06, draw_share=0.2, sample_error=0.15, spectrum_error_db=2.0, holds_phase=False),
    Storage.INT8: Tolerance(0.08, draw_share=0.25, sample_error=0.15, spectrum_error_db=2.0, holds_phase=False),
}
"""By storage. Rounded weights change what is drawn now and then; whether that is heard, listening tests must say."""
