"""Sizes of the default voice's codec; free of torch, so that graphs can be built without it."""

import math
from dataclasses import dataclass

SPECTRUM_PARTS = 5
PITCH_NUMBERS = 2
FRONT_KERNEL = 7
FRONT_EXPANSION = 2
HIGHEST_LOG_F0 = math.log(1000.0)
MIDDLE_LOG_F0 = 5.0
"""Of 148 Hz, between the voices."""


@dataclass(frozen=True)
class LatentCodecConfig:
    """Sizes of the codec.

    Attributes:
        codebook_count: FSQ groups, one code each a frame.
        levels: FSQ levels of a group.
        sub_frames: 80 Hz frames in one 20 Hz frame.
        latent_width: channels of the teacher's latent.
        wide, narrow: channels at 20 Hz and at 80 Hz.
        decoder_blocks, refiner_blocks: causal blocks at 20 Hz and at 80 Hz.
        tail_blocks: the teacher's own blocks behind the latent.
        bins: spectral bins of a part (n_fft / 2 + 1).
        sample_rate_hz, hop_samples: of the rendered audio.
        timbre_width: numbers of a voice vector that shape the spectra; 0 for a codec of one voice.
        timbre_rank, head_rank: ranks of what a voice adds to the matrices of a tail block, and of the head.
    """

    codebook_count: int = 4
    levels: tuple[int, ...] = (8, 5, 5, 5)
    sub_frames: int = 4
    latent_width: int = 256
    wide: int = 320
    narrow: int = 192
    encoder_blocks_narrow: int = 2
    encoder_blocks_wide: int = 4
    decoder_blocks: int = 4
    refiner_blocks: int = 3
    tail_blocks: int = 3
    tail_kernel: int = 7
    tail_expansion: int = 3
    bins: int = 601
    sample_rate_hz: int = 24_000
    hop_samples: int = 300
    timbre_width: int = 0
    timbre_rank: int = 48
    head_rank: int = 96

    @property
    def feature_width(self) -> int:
        """Latent, log F0 and voicing side by side."""
        return self.latent_width + 2

    @property
    def voice_width(self) -> int:
        """Numbers of a voice vector: the timbre, and behind it how far the log pitch is stretched and moved."""
        return self.timbre_width + PITCH_NUMBERS if self.timbre_width else 0
