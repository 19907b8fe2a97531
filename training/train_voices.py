"""Teaches the shipped bundle more voices: small additions to its vocoder, learned from Kokoro's rendering of its codes.

Talker, codec and the vocoder's own weights stay as they are, and so does the first voice, sample for sample. The loss
compares sound with sound; there is no adversary. About half a CPU-second a step.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from build_engines.networks.latent_codec import LatentCodec
from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.networks.pointer_talker_config import PointerTalkerConfig
from build_engines.networks.source_filter import SourceFilter
from build_engines.pointer.rebuild import StoredNetworks
from training import checkpoint
from training.kokoro import HOP_SAMPLES, Floats, Kokoro, VoicePacks
from training.loss_loop import LossLoop
from training.recipe import Recipe
from training.voice_data import Said, pitch_of, pitch_of_first, render, said_by_talker
from training.voice_list import OTHER_VOICES
from training.voice_losses import SoundLoss
from trt_engines.manifest_loading import load_manifest

TIMBRE_WIDTH = 64
CROP_FRAMES, CONTEXT_FRAMES, EDGE_FRAMES = 96, 12, 3
BATCH = 8
PEAK_RATE = 1e-3
WARM_UP_STEPS = 50
LAST_SHARE = 0.05
SAVE_EVERY, REPORT_EVERY = 100, 25
_VECTOR_DECAY = 1e-4


class Vectors(nn.Module):
    """The timbres of the voices; the first number of each is 1, so that what they have in common is learned once."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.free = nn.Parameter(torch.randn(count, width - 1) * 0.3)

    def forward(self, voices: Tensor) -> Tensor:
        """Return float32 [batch, width] of voices int64 [batch]."""
        return torch.cat([torch.ones(len(voices), 1), self.free[voices]], 1)


@dataclass(frozen=True)
class Lesson:
    """One sentence in one voice.

    Attributes:
        voice: its place in `OTHER_VOICES`.
        said: what was said.
        numbers: how its pitch lies, the last numbers of the voice vector.
        pulses: float32 [samples], the source of the whole sentence, whose phase is the teacher's.
        samples: float32 [samples], how it sounds.
    """

    voice: int
    said: Said
    numbers: tuple[float, float]
    pulses: Floats
    samples: Floats

    def crop(self, rng: np.random.Generator) -> tuple[Tensor, ...]:
        """Return a random piece with context around it, of latent, log pitch, voicing, pulses and samples."""
        length = CROP_FRAMES + 2 * CONTEXT_FRAMES
        start = int(rng.integers(0, max(1, len(self.said.log_f0) - length + 1)))
        frames = (self.said.latent, self.said.log_f0, self.said.is_voiced.astype(np.float32))
        pieces = [_padded(array[start : start + length], length) for array in frames]
        heard = slice(start * HOP_SAMPLES, (start + length) * HOP_SAMPLES)
        pieces += [_padded(array[heard], length * HOP_SAMPLES) for array in (self.pulses, self.samples)]
        return tuple(map(torch.from_numpy, pieces))


def train(recipe: Recipe) -> None:
    """Train to `recipe.voice_steps`, resumably; writes `recipe.voices`."""
    manifest = load_manifest(recipe.bundle)
    plain = StoredNetworks(recipe.bundle, LatentCodecConfig(), PointerTalkerConfig()).networks(manifest).codec
    codec = LatentCodec(replace(plain.config, timbre_width=TIMBRE_WIDTH))
    codec.load_state_dict(plain.state_dict(), strict=False)
    timbre = codec.timbre
    assert timbre is not None
    lessons = _lessons(recipe, said_by_talker(recipe.bundle, manifest, plain, recipe.voice_data))
    vectors = Vectors(len(OTHER_VOICES), TIMBRE_WIDTH)
    groups: list[dict[str, Any]] = [
        {"params": [*timbre.parameters()]},
        {"params": [*vectors.parameters()], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    step = 0
    if state := checkpoint.load(recipe.voices):
        timbre.load_state_dict(state["timbre"])
        vectors.load_state_dict(state["vectors"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    coach = _Coach(codec, vectors, lessons, np.random.default_rng(step))
    numbers = {lesson.voice: lesson.numbers for lesson in lessons}
    pitch = torch.tensor([numbers[voice] for voice in range(len(OTHER_VOICES))])

    def save(done: int) -> None:
        state = {"timbre": timbre.state_dict(), "vectors": vectors.state_dict(), "step": done}
        checkpoint.save(recipe.voices, {**state, "optimizer": optimizer.state_dict(), "pitch": pitch})

    LossLoop(
        "voices",
        optimizer,
        coach.losses,
        lambda at: rate_at(at, recipe.voice_steps),
        save,
        SAVE_EVERY,
        REPORT_EVERY,
    ).run(step, recipe.voice_steps)


def rate_at(step: int, steps: int) -> float:
    """Warm up, then follow a cosine down to a twentieth of the peak."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
    return PEAK_RATE * min(1.0, (step + 1) / WARM_UP_STEPS) * (LAST_SHARE + (1 - LAST_SHARE) * cosine)


class _Coach:
    """Draws crops, lets the codec speak them and tells how far they are from the teacher."""

    def __init__(self, codec: LatentCodec, vectors: Vectors, lessons: list[Lesson], rng: np.random.Generator) -> None:
        self._codec, self._vectors, self._rng = codec, vectors, rng
        self._source_filter = SourceFilter(codec.config)
        self._loss = SoundLoss()
        self._by_voice = [[item for item in lessons if item.voice == voice] for voice in range(len(OTHER_VOICES))]

    def losses(self) -> dict[str, Tensor]:
        """Return the named parts of the loss for one batch."""
        voices = self._rng.integers(0, len(self._by_voice), BATCH)
        drawn = [self._by_voice[voice][self._rng.integers(0, len(self._by_voice[voice]))] for voice in voices]
        latent, log_f0, voiced, pulses, wanted = (
            torch.stack(parts) for parts in zip(*(item.crop(self._rng) for item in drawn), strict=True)
        )
        vector = torch.cat([self._vectors(torch.from_numpy(voices)), torch.tensor([item.numbers for item in drawn])], 1)
        spectra, _ = self._codec.spectra(latent, log_f0, voiced > 0, vector)
        noise = torch.complex(*torch.randn(2, BATCH, CROP_FRAMES, self._codec.config.bins))
        inner, inner_samples = _within(CONTEXT_FRAMES)
        made = self._source_filter.from_pulses(spectra[:, inner], pulses[:, inner_samples], noise)
        heard, there = _within(EDGE_FRAMES)[1], _within(CONTEXT_FRAMES + EDGE_FRAMES)
        parts = self._loss(made[:, heard], wanted[:, there[1]], voiced[:, there[0]])
        return {**parts, "size": _VECTOR_DECAY * self._vectors.free.pow(2).sum() / len(self._by_voice)}


def _lessons(recipe: Recipe, said: list[Said]) -> list[Lesson]:
    """Let every voice say its share of the sentences, so that all of them are said by some."""
    kokoro, packs, first = Kokoro(), VoicePacks(recipe.voice_data), pitch_of_first(said)
    source_filter, lessons = SourceFilter(LatentCodecConfig()), []
    for index, voice in enumerate(OTHER_VOICES):
        numbers = pitch_of(kokoro, packs, voice.pack, said).numbers(first)
        order = np.random.default_rng(index).permutation(len(said))[: recipe.voice_sentences]
        share = [said[place] for place in order]
        sounds = render(kokoro, packs, voice.pack, numbers, share, recipe.voice_data / f"{voice.pack}.npz")
        for item, sound in zip(share, sounds, strict=True):
            pulses = source_filter.pulses(torch.from_numpy(item.f0_hz(numbers))[None])
            lessons.append(Lesson(index, item, numbers, pulses[0].numpy(), sound))
    return lessons


def _within(frames: int) -> tuple[slice, slice]:
    """Return what leaves out so many frames at both ends, for frames and for samples."""
    return slice(frames, -frames), slice(frames * HOP_SAMPLES, -frames * HOP_SAMPLES)


def _padded(array: Floats, length: int) -> Floats:
    missing = length - len(array)
    return np.pad(array, ((0, missing), *((0, 0),) * (array.ndim - 1)))
