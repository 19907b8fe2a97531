"""How far the graph `vocode` is from the torch vocoder, and that its samples do not depend on how frames are cut."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from build_engines.networks.offline_vocoder import OfflineVocoder
from build_engines.verification.graph_runner import GraphRunner
from trt_engines.manifest import Manifest

_WINDOW_SAMPLES = 1024
_FLOOR_DB = 60

Codes = npt.NDArray[np.int32]
Samples = npt.NDArray[np.float32]
Voices = npt.NDArray[np.float32]


@dataclass(frozen=True)
class VocoderDriver:
    """The graph and its numbers.

    Attributes:
        graph: the graph `vocode`.
        state_width, lookahead_frames, samples_per_frame, voice_width: of the manifest.
    """

    graph: GraphRunner
    state_width: int
    lookahead_frames: int
    samples_per_frame: int
    voice_width: int

    @classmethod
    def of(cls, graph: GraphRunner, manifest: Manifest) -> "VocoderDriver":
        """Take the numbers from the manifest of the bundle that holds the graph."""
        spec = manifest.vocode
        samples_per_frame = manifest.audio.samples_per_frame
        return cls(graph, spec.state_width, spec.lookahead_frames, samples_per_frame, spec.voice_width)

    def stream(
        self, codes: Sequence[Codes], seeds: Sequence[int], chunk_frames: int, voices: Voices | None = None
    ) -> list[Samples]:
        """Vocode a batch of segments in calls of `chunk_frames`; returns all samples of each.

        Args:
            codes: int32 [frames, codebooks] of each segment.
            seeds: of the noise of each.
            chunk_frames: frames of a call.
            voices: float32 [segments, voice width]; None for zeros.
        """
        if voices is None:
            voices = np.zeros((len(codes), self.voice_width), np.float32)
        state = np.zeros((len(codes), self.state_width), np.float32)
        parts: list[list[Samples]] = [[] for _ in codes]
        longest = max(len(item) for item in codes)
        for start in range(0, longest, chunk_frames):
            counts = np.asarray([np.clip(len(item) - start, 0, chunk_frames) for item in codes], np.int32)
            is_last = np.asarray([start < len(item) <= start + chunk_frames for item in codes])
            width = chunk_frames + (self.lookahead_frames if is_last.any() else 0)
            frames = np.zeros((len(codes), width, codes[0].shape[1]), np.int32)
            for row, item in enumerate(codes):
                frames[row, : counts[row]] = item[start : start + counts[row]]
            feeds = {"frames": frames, "count": counts, "is_last": is_last, "seed": np.asarray(seeds, np.int32)}
            made = self.graph.run({**feeds, "state": state, **({"voice": voices} if self.voice_width else {})})
            state = made["state_out"]
            for row, part in enumerate(parts):
                good = counts[row] + self.lookahead_frames * int(is_last[row])
                part.append(made["samples"][row, : good * self.samples_per_frame])
        lead = self.lookahead_frames * self.samples_per_frame
        return [np.concatenate(part)[lead:] for part in parts]


@dataclass(frozen=True)
class VocoderParity:
    """Errors over all segments of a batch.

    Attributes:
        sample_error: largest difference of a sample, relative to the loudest sample of its segment.
        spectrum_error_db: mean difference of the short-time spectra in decibels, down to 60 dB below the loudest bin.
            Unlike the samples it forgives a pitch that is off by a hair, which after a second is another phase.
    """

    sample_error: float
    spectrum_error_db: float


def vocoder_parity(
    driver: VocoderDriver, vocoder: OfflineVocoder, codes: Sequence[Codes], chunk_frames: int, voices: Voices
) -> VocoderParity:
    """Compare segments that were streamed together, each in its voice, with what torch renders of each."""
    sample_errors, spectrum_errors = [], []
    streamed = driver.stream(codes, range(len(codes)), chunk_frames, voices)
    for seed, (item, samples) in enumerate(zip(codes, streamed, strict=True)):
        voice = torch.from_numpy(voices[seed : seed + 1])
        expected = vocoder(torch.from_numpy(item).long()[None], seed, voice)[0].numpy()
        sample_errors.append(np.abs(samples - expected).max() / np.abs(expected).max())
        spectrum_errors.append(np.abs(_decibels(samples, expected) - _decibels(expected, expected)).mean())
    return VocoderParity(float(max(sample_errors)), float(max(spectrum_errors)))


def _decibels(samples: Samples, reference: Samples) -> Samples:
    """Return the levels [windows, bins] of a short-time spectrum, floored 60 dB below the loudest of the reference."""
    floor = _magnitudes(reference).max() * 10 ** (-_FLOOR_DB / 20)
    return np.asarray(20 * np.log10(np.maximum(_magnitudes(samples), floor)), np.float32)


def _magnitudes(samples: Samples) -> Samples:
    padded = np.pad(samples, (0, max(0, _WINDOW_SAMPLES - len(samples))))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW_SAMPLES)[:: _WINDOW_SAMPLES // 4]
    return np.asarray(np.abs(np.fft.rfft(windows * np.hanning(_WINDOW_SAMPLES), axis=-1)), np.float32)
