"""The training of further voices: what is compared, and what of a voice is learned."""

import numpy as np
import pytest
import torch

from build_engines.networks.latent_codec import LatentCodec
from build_engines.networks.latent_codec_config import LatentCodecConfig
from build_engines.tiny import TINY_CODEC
from training.train_voices import CONTEXT_FRAMES, CROP_FRAMES, PEAK_RATE, Lesson, Vectors, rate_at
from training.voice_data import Pitch, Said
from training.voice_list import FIRST_VOICE, OTHER_VOICES
from training.voice_losses import SoundLoss

HOP = 300
LENGTH = CROP_FRAMES + 2 * CONTEXT_FRAMES


def said(frame_count: int) -> Said:
    """A sentence whose numbers tell where they stand."""
    place = np.arange(frame_count, dtype=np.float32)
    return Said(np.zeros(1, np.int64), np.ones(1, np.int64), place[:, None], place, place >= 0)


def lesson(frame_count: int) -> Lesson:
    """The sentence with sound whose samples tell where they stand."""
    samples = np.arange(frame_count * HOP, dtype=np.float32)
    return Lesson(0, said(frame_count), (0.0, 0.0), samples, samples)


@pytest.mark.parametrize("frame_count", [40, LENGTH, 400])
def test_crops_hold_the_same_moment_of_everything(frame_count: int) -> None:
    """Latent, pitch, pulses and samples of a crop belong together; a short sentence is filled up with zeros."""
    latent, log_f0, voiced, pulses, samples = lesson(frame_count).crop(np.random.default_rng(3))
    start, there = int(log_f0[0]), min(frame_count, LENGTH)

    assert (LENGTH, 1) == latent.shape
    assert list(range(start, start + there)) == log_f0[:there].tolist() == latent[:there, 0].tolist()
    assert there == voiced.sum()
    assert LENGTH * HOP == len(pulses)
    assert start * HOP == samples[0] == pulses[0]
    assert not samples[there * HOP :].any()


def test_sound_is_no_distance_from_itself_and_far_from_silence() -> None:
    """Every part of the loss is zero for equal sound and grows with the difference."""
    torch.manual_seed(0)
    loss, sound, voiced = SoundLoss(), 0.1 * torch.randn(2, 40 * HOP), torch.ones(2, 40)
    same, near, far = (loss(other, sound, voiced) for other in (sound, 0.9 * sound, 0.0 * sound))

    assert {"level", "convergence", "mel", "phase"} == same.keys()
    for name, value in same.items():
        assert value == pytest.approx(0.0, abs=1e-6)
        assert value < near[name] < far[name]


def test_pitch_of_a_voice_is_moved_to_its_middle() -> None:
    """The numbers of the vector bring the middle of the first voice to that of another, and stretch its range."""
    rng = np.random.default_rng(0)
    first = Pitch.of(rng.normal(5.3, 0.2, 1000).astype(np.float32))
    deep = Pitch.of(rng.normal(4.6, 0.1, 1000).astype(np.float32))
    stretch, move = deep.numbers(first)

    assert deep.middle == pytest.approx(first.middle * (1 + stretch) + move)
    assert stretch == pytest.approx(-0.3)  # half the range would sound flat
    assert first.numbers(first) == pytest.approx((0.0, 0.0))


def test_every_voice_has_the_first_number_in_common() -> None:
    """It is 1, so that what all voices share is learned once; the first voice, all zeros, has none of it."""
    vectors = Vectors(3, 8)(torch.arange(3))

    assert (3, 8) == vectors.shape
    assert [1.0, 1.0, 1.0] == vectors[:, 0].tolist()


def test_an_untrained_timbre_changes_nothing() -> None:
    """Training starts from the vocoder as it ships: with any vector it makes the same spectra."""
    codec = LatentCodec(TINY_CODEC)
    latent, log_f0 = torch.randn(2, 9, TINY_CODEC.latent_width), torch.full((2, 9), 5.0)
    voice = torch.randn(2, TINY_CODEC.voice_width)
    spectra, _ = codec.spectra(latent, log_f0, log_f0 > 0, voice)

    torch.testing.assert_close(spectra, codec.tail(latent))


def test_rate_falls_to_a_twentieth() -> None:
    """It warms up, peaks early and ends low."""
    assert rate_at(0, 1000) < rate_at(49, 1000)
    assert PEAK_RATE == pytest.approx(max(rate_at(step, 1000) for step in range(1000)), rel=0.01)
    assert rate_at(1000, 1000) == pytest.approx(0.05 * PEAK_RATE)


def test_names_of_the_voices() -> None:
    """Eight voices and more: four of each sex among them, in the order of their names, the first one first."""
    names = [voice.name for voice in OTHER_VOICES]

    assert sorted([FIRST_VOICE.name, *names]) == [FIRST_VOICE.name, *names]
    assert [4, 4] == [sum(voice.gender == gender for voice in OTHER_VOICES) for gender in ("female", "male")]
    assert LatentCodecConfig().timbre_width == 0
