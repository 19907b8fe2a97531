"""What rounding costs: logits, spectra and codes of rounded networks against those with all their bits.

On trained weights the figures say how much worse a voice may sound. On random ones logits are flat, so that a small
error changes what is likeliest; errors and cosines are then still those of the arithmetic, agreement means nothing.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from build_engines.fish_speech.causal import Past
from build_engines.fish_speech.codec import FishCodec
from build_engines.fish_speech.talker import FishTalker
from trt_engines.manifest import QualitySpec

_ROWS = 64
_FRAMES = 12
_SAMPLES = 44_100
_SEED = 0
_DECIBELS = 20 / float(np.log(10))

Outputs = Mapping[str, Tensor]


@torch.no_grad()
def talker_outputs(talker: FishTalker, code_count: int) -> Outputs:
    """Return the logits over one random prompt of text and speech, of tokens that can be spoken and of codes."""
    generator, config, ids = torch.Generator().manual_seed(_SEED), talker.config, talker.ids
    half, books = _ROWS // 2, config.codebook_count
    rows = torch.zeros(1, _ROWS, 1 + books, dtype=torch.long)
    rows[..., 0] = torch.randint(0, ids.end, (1, _ROWS), generator=generator)
    rows[:, half:, 1:] = torch.randint(0, code_count, (1, _ROWS - half, books), generator=generator)
    rows[:, half:, 0] = ids.semantic_begin + rows[:, half:, 1]
    hidden, logits = talker(rows)
    codes = talker.code_logits(hidden[0, half - 1 : -1], rows[0, half:, 1:-1])
    spoken = slice(ids.semantic_begin, ids.semantic_begin + code_count)
    return {"token": logits[0, :, spoken], "codes": codes[:, 1:, :code_count].flatten(0, 1)}


@torch.no_grad()
def codec_outputs(codec: FishCodec) -> Outputs:
    """Return the log-mel spectra of random frames that are decoded, and the codes of noise."""
    generator = torch.Generator().manual_seed(_SEED)
    shape = (1, _FRAMES, codec.config.codebook_count)
    frames = torch.randint(0, codec.config.code_count, shape, generator=generator)
    noise = 0.1 * torch.randn(1, _SAMPLES, generator=generator)
    return {"mel": codec.mel(codec.decode(frames, Past())), "codes": codec.encode(noise)}


def talker_quality(exact: Outputs, rounded: Outputs) -> tuple[QualitySpec, ...]:
    """Compare what `talker_outputs` gave of two talkers."""
    return tuple(
        QualitySpec("talker", f"{head} logits: {measure}", value)
        for head in exact
        for measure, value in _logit_measures(exact[head], rounded[head])
    )


def codec_quality(exact: Outputs, rounded: Outputs) -> tuple[QualitySpec, ...]:
    """Compare what `codec_outputs` gave of two codecs."""
    distance = _DECIBELS * float((exact["mel"] - rounded["mel"]).abs().mean())
    agreement = float((exact["codes"] == rounded["codes"]).float().mean())
    return QualitySpec("codec", "mel distance, dB", distance), QualitySpec("codec", "share of equal codes", agreement)


def _logit_measures(exact: Tensor, rounded: Tensor) -> Iterator[tuple[str, float]]:
    """Compare logits [positions, ids]; the divergence is that of the rounded distribution from the exact one."""
    divergence = functional.kl_div(
        rounded.log_softmax(-1), exact.log_softmax(-1), log_target=True, reduction="batchmean"
    )
    yield "mean squared error", float((exact - rounded).square().mean())
    yield "cosine", float(functional.cosine_similarity(exact, rounded).mean())
    yield "divergence, nats", float(divergence)
    yield "share of equal likeliest ids", float((exact.argmax(-1) == rounded.argmax(-1)).float().mean())
