"""Sizes and row layout of the default voice's talker; free of torch, so that graphs can be built without it."""

from dataclasses import dataclass, field

from build_engines.networks.transformer_config import TransformerConfig

ROW_COLUMNS = ("phoneme", "advance", "pointer", "dwell")
ADVANCE_COUNT = 5
END_ADVANCE = 4
BEGIN_ADVANCE = 5
WINDOW = (-1, 0, 1, 2, 3)
MAX_DWELL = 23


@dataclass(frozen=True)
class PointerTalkerConfig:
    """Sizes of the talker.

    Attributes:
        slow, fast: the two transformers.
        codebook_count, levels: of the codec whose codes are spoken.
        phoneme_count: phoneme ids are below this; the id itself stands for "outside the text".
        end_dwell: stop when the last phoneme has been held for more than this many half frames.
    """

    slow: TransformerConfig = field(default_factory=lambda: TransformerConfig(256, 6, 4, 2, 64, 704))
    fast: TransformerConfig = field(default_factory=lambda: TransformerConfig(256, 2, 4, 4, 64, 512))
    codebook_count: int = 4
    levels: tuple[int, ...] = (8, 5, 5, 5)
    phoneme_count: int = 178
    end_dwell: int = 12
