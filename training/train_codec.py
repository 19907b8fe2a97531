"""Trains the codec on teacher latents: FSQ bottleneck, decoder, and (frozen) the teacher's own output stack.

The loss compares latents, pitch and voicing, and the spectra that the teacher's head makes of them; there is no
waveform and no adversary. About half a CPU-second a step.
"""

import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from build_engines.networks.latent_codec import VOICED_HZ, LatentCodec, LatentCodecConfig
from training import checkpoint
from training.dataset import Sentence, read_sentences_of, read_shards
from training.loss_loop import LossLoop
from training.teacher import output_stack_weights

CROP_FRAMES = 128
BATCH = 16
PEAK_RATE = 1.2e-3
WARM_UP_STEPS = 100
SAVE_EVERY = 200
REPORT_EVERY = 50
LOSS_WEIGHTS = {"latent": 1.0, "spectra": 0.5, "pitch": 8.0, "voicing": 1.0}


class CropSampler:
    """Draws random crops of teacher features, longer sentences in proportion to their length."""

    def __init__(self, sentences: list[Sentence], seed: int) -> None:
        self._sentences = [item for item in sentences if len(item.f0_hz) > CROP_FRAMES]
        lengths = np.array([len(item.f0_hz) for item in self._sentences], np.float64)
        self._weights = lengths / lengths.sum()
        self._rng = np.random.default_rng(seed)

    def draw(self) -> tuple[Tensor, Tensor]:
        """Return latents [batch, CROP_FRAMES, 256] and pitch [batch, CROP_FRAMES]."""
        latents, pitches = [], []
        for index in self._rng.choice(len(self._sentences), BATCH, p=self._weights):
            item = self._sentences[index]
            start = int(self._rng.integers(0, len(item.f0_hz) - CROP_FRAMES) // 4 * 4)
            latents.append(item.latent[start : start + CROP_FRAMES].astype(np.float32))
            pitches.append(item.f0_hz[start : start + CROP_FRAMES])
        return torch.from_numpy(np.stack(latents)), torch.from_numpy(np.stack(pitches))


def load_sentences(folder: Path, shard_count: int) -> list[Sentence]:
    """Return the sentences of the first `shard_count` shards."""
    return [item for path in read_shards(folder)[:shard_count] for item in read_sentences_of(path)]


def new_codec(sentences: list[Sentence]) -> LatentCodec:
    """Return a codec with the teacher's tail loaded and the statistics of `sentences`."""
    codec = LatentCodec(LatentCodecConfig())
    weights = output_stack_weights()
    codec.tail.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
    latents = np.concatenate([item.latent for item in sentences[:400]]).astype(np.float32)
    f0_hz = np.concatenate([item.f0_hz for item in sentences[:400]])
    log_f0 = np.log(f0_hz[f0_hz > VOICED_HZ])
    codec.mean.copy_(torch.from_numpy(np.append(latents.mean(0), [log_f0.mean(), 0.0])))
    codec.deviation.copy_(torch.from_numpy(np.append(latents.std(0) + 1e-3, [log_f0.std(), 1.0])))
    return codec


def spectral_loss(predicted: Tensor, target: Tensor, voiced: Tensor, bins: int) -> Tensor:
    """Compare two tails' outputs [batch, time, 5 * bins]: magnitudes where audible, phases where they count."""
    lh, theta, ln, lr, phi = predicted.float().split(bins, -1)
    lh_t, theta_t, ln_t, lr_t, phi_t = target.float().split(bins, -1)
    loudest = torch.maximum(torch.maximum(lh_t * voiced, ln_t), lr_t)
    audible = torch.sigmoid(loudest + 3.0)

    def level(part: Tensor, part_t: Tensor, weight: Tensor) -> Tensor:
        share = weight * torch.sigmoid(part_t - loudest + 2.0)
        return ((part - part_t).abs() * share).sum() / share.sum().clamp_min(1.0)

    def phase(turn: Tensor, part_t: Tensor, weight: Tensor) -> Tensor:
        share = weight * torch.sigmoid(part_t - loudest + 2.0)
        return ((1 - torch.cos(turn)) * share).sum() / share.sum().clamp_min(1.0)

    heard = audible * voiced
    return (
        level(lh, lh_t, heard)
        + level(ln, ln_t, audible)
        + level(lr, lr_t, audible)
        + phase(math.pi * (torch.tanh(theta) - torch.tanh(theta_t)), lh_t, heard)
        + phase(phi - phi_t, lr_t, audible)
    )


def losses(codec: LatentCodec, latent: Tensor, f0_hz: Tensor) -> dict[str, Tensor]:
    """Return the named parts of the loss for one batch."""
    features = codec.features(latent, f0_hz)
    voiced = (f0_hz > VOICED_HZ).float()
    with torch.autocast("cpu", torch.bfloat16):
        decoded = codec.decoder(codec.encode(features))
        predicted, log_f0, voicing = codec.split(decoded)
        with torch.no_grad():
            target_spectra = codec.tail(latent)
        spectra = codec.tail(predicted)
    width = codec.config.latent_width
    log_f0_target = features[..., width] * codec.deviation[width] + codec.mean[width]
    pitch = ((log_f0 - log_f0_target).abs() * voiced).sum() / voiced.sum().clamp_min(1.0)
    return {
        "latent": F.mse_loss(decoded[..., :width].float(), features[..., :width]),
        "spectra": spectral_loss(spectra, target_spectra, voiced[..., None], codec.config.bins),
        "pitch": pitch,
        "voicing": F.binary_cross_entropy_with_logits(voicing, voiced),
    }


def train(data: Path, out: Path, steps: int, shard_count: int) -> None:
    """Train to `steps`; the teacher's tail stays as it is, so that what it learned is kept."""
    sentences = load_sentences(data, shard_count)
    codec = new_codec(sentences)
    codec.tail.requires_grad_(False)
    learned = [*codec.encoder.parameters(), *codec.decoder.parameters()]
    optimizer = torch.optim.AdamW(learned, PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    step = 0
    if state := checkpoint.load(out):
        codec.load_state_dict(state["codec"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    sampler = CropSampler(sentences, seed=step)

    def save(done: int) -> None:
        checkpoint.save(out, {"codec": codec.state_dict(), "optimizer": optimizer.state_dict(), "step": done})

    LossLoop(
        "codec",
        optimizer,
        lambda: losses(codec, *sampler.draw()),
        lambda at: rate_at(at, steps),
        save,
        SAVE_EVERY,
        REPORT_EVERY,
    ).run(step, steps, LOSS_WEIGHTS)


def rate_at(step: int, steps: int) -> float:
    """Warm up, then follow a cosine to two hundredths of the peak."""
    return PEAK_RATE * min(1.0, step / WARM_UP_STEPS) * (0.52 + 0.5 * math.cos(math.pi * step / steps)) / 1.02
