"""The streamed vocoder: the same samples however a segment is cut, and those of torch."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from build_engines.networks.latent_codec import LatentCodec
from build_engines.networks.offline_vocoder import OfflineVocoder
from build_engines.pointer.build import PointerNetworks
from build_engines.tiny import TINY_CODEC, make_tiny_bundle
from build_engines.verification.graph_runner import GraphRunner
from build_engines.verification.vocoder_parity import VocoderDriver, vocoder_parity
from trt_engines.manifest_loading import load_manifest

Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Codes = np.ndarray[tuple[int, int], np.dtype[np.int32]]


@pytest.fixture(scope="module")
def driver(tiny_bundle: Path) -> VocoderDriver:
    """The vocoder of the tiny bundle."""
    manifest = load_manifest(tiny_bundle)
    return VocoderDriver.of(GraphRunner(tiny_bundle / manifest.vocode.graph), manifest)


def voices_of(count: int, seed: int) -> Vectors:
    """Random voice vectors, some of them zeros; the pitch stays within a tenth of an octave or so."""
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((count, TINY_CODEC.voice_width)).astype(np.float32)
    vectors[:, -2:] *= 0.03
    vectors[random.random(count) < 0.3] = 0.0
    return vectors


def codes_of(length: int, seed: int) -> Codes:
    """Random frames of the tiny codec."""
    size = int(np.prod(TINY_CODEC.levels))
    return np.random.default_rng(seed).integers(0, size, (length, 4)).astype(np.int32)


@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    chunk_frames=st.integers(1, 8),
    seed=st.integers(0, 99),
)
@settings(max_examples=25, deadline=None)
def test_samples_do_not_depend_on_cuts_and_neighbors(
    driver: VocoderDriver, lengths: list[int], chunk_frames: int, seed: int
) -> None:
    """A segment cut into calls of any length, among up to seven in other voices, gives its bits alone in one call."""
    codes = [codes_of(length, seed + row) for row, length in enumerate(lengths)]
    seeds = [seed * 1000 + row for row in range(len(codes))]
    voices = voices_of(len(codes), seed)

    streamed = driver.stream(codes, seeds, chunk_frames, voices)
    for row, (item, samples) in enumerate(zip(codes, streamed, strict=True)):
        whole = driver.stream([item], [seeds[row]], len(item), voices[row : row + 1])[0]
        assert len(whole) == len(item) * driver.samples_per_frame
        np.testing.assert_array_equal(samples, whole)


@pytest.mark.parametrize("length", [1, 2, 3, 20])
def test_samples_equal_the_offline_vocoder(driver: VocoderDriver, tiny_networks: PointerNetworks, length: int) -> None:
    """From the first sample to the last, edges included, the stream is what torch renders at once."""
    codes, voices = [codes_of(length, 5), codes_of(length, 6)], voices_of(2, 1)
    assert [True, False] == voices.any(1).tolist()
    parity = vocoder_parity(driver, OfflineVocoder(tiny_networks.codec), codes, 2, voices)

    assert parity.sample_error < 1e-3
    assert parity.spectrum_error_db < 0.05


def test_a_voice_of_zeros_is_the_codec_without_voices(driver: VocoderDriver, tiny_networks: PointerNetworks) -> None:
    """Whatever was added for other voices, the first one sounds as if it were not there; another one does not."""
    codes, voices = codes_of(12, 3), np.zeros((1, TINY_CODEC.voice_width), np.float32)
    codec = LatentCodec(replace(TINY_CODEC, timbre_width=0))
    codec.load_state_dict(tiny_networks.codec.state_dict(), strict=False)

    alone = OfflineVocoder(codec.eval())(torch.from_numpy(codes).long()[None], 4)[0].numpy()
    np.testing.assert_allclose(driver.stream([codes], [4], 5, voices)[0], alone, atol=1e-3)
    assert np.abs(driver.stream([codes], [4], 5, voices + 1.0)[0] - alone).max() > 0.05


def test_noise_depends_on_the_seed_alone(driver: VocoderDriver) -> None:
    """Another seed gives other samples, the same seed the same."""
    codes = codes_of(10, 0)
    first, other, again = (driver.stream([codes], [seed], 10)[0] for seed in (1, 2, 1))

    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_the_largest_seed_is_good(driver: VocoderDriver) -> None:
    """A seed of 2**31 - 1 neither overflows nor leaves the table of noise."""
    assert np.isfinite(driver.stream([codes_of(4, 0)], [2**31 - 1], 4)[0]).all()


def test_samples_are_audible_and_not_clipped(driver: VocoderDriver) -> None:
    """The untrained voice is noise at a good level: tests can compare it, and a tester can hear it."""
    samples = driver.stream([codes_of(100, 1)], [3], 8)[0]

    assert 0.02 < samples.std() < 0.4
    assert np.abs(samples).max() < 1.5


def test_another_seed_of_the_bundle_sounds_as_well(tmp_path: Path) -> None:
    """The level does not hang on the weights of seed 0."""
    manifest = make_tiny_bundle(tmp_path, seed=11)
    driver = VocoderDriver.of(GraphRunner(tmp_path / manifest.vocode.graph), manifest)

    assert 0.02 < driver.stream([codes_of(50, 1)], [3], 8)[0].std() < 0.4
