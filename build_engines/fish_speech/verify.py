"""Proves a bundle of the `fish_speech` family against the torch networks it was made from, or refuses it."""

import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from build_engines.errors import ParityError
from build_engines.fish_speech.causal import Past
from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.recipe import FishTolerance
from build_engines.fish_speech.talker_run import TalkerRun, speak
from build_engines.fish_speech.talker_trace import SpokenRows, redraw, trace_caches
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.verification.graph_runner import BACKEND, GraphRunner
from build_engines.verification.vocoder_parity import VocoderDriver
from trt_engines.manifest import Manifest, ParitySpec

_SEED = 11
_PROMPT_ROWS = (29, 11)
_STEPS = 10
_FRAMES = 12
_CALL_FRAMES = (12, 1, 5)
_REFERENCE_SAMPLES = 20_000
_WIDE = (1.0, 1.0, 1.5)


@dataclass(frozen=True)
class FishVerifier:
    """The bundle, and what it must equal.

    Attributes:
        bundle_dir: the bundle.
        manifest: its manifest.
        checkpoint: the torch networks.
        weights: what its talker's graphs were made of.
        talker_tolerance, codec_tolerance: the largest errors.
    """

    bundle_dir: Path
    manifest: Manifest
    checkpoint: FishCheckpoint
    weights: TalkerWeights
    talker_tolerance: FishTolerance
    codec_tolerance: FishTolerance

    def verify(self) -> tuple[ParitySpec, ...]:
        """Return the result of every case.

        Raises:
            ParityError: A case is beyond its tolerance.
        """
        results = (*self._talker(), *self._vocoder(), self._encoder())
        failed = [result for result in results if not result.worst_error <= result.tolerance]
        if failed:
            lines = [f"{r.graph}, {r.case}: {r.worst_error:.3g}, allowed {r.tolerance:.3g}" for r in failed]
            raise ParityError(
                f"{len(failed)} of {len(results)} cases stray too far from torch: {'; '.join(lines)}. The bundle is "
                "refused; choose a storage with more bits, or mend the graph."
            )
        return results

    @functools.cached_property
    def talker_run(self) -> TalkerRun:
        """Speak two random prompts, one with the default parameters and one with the widest."""
        rng, config = np.random.default_rng(_SEED), self.weights.config
        defaults = [param.default for param in self.manifest.step.params]
        prompts = [self._prompt(rng, count) for count in _PROMPT_ROWS]
        prefill, step = (self._graph(part.graph) for part in (self.manifest.prefill, self.manifest.step))
        steps = min(_STEPS, config.max_positions - max(_PROMPT_ROWS))
        return speak(prefill, step, prompts, np.asarray([defaults, _WIDE], np.float32), steps)

    def random_frames(self) -> npt.NDArray[np.int32]:
        """Return random codes int32 [frames, codebooks]."""
        codec = self.checkpoint.codec.config
        shape = (_FRAMES, codec.codebook_count)
        return np.random.default_rng(_SEED).integers(0, codec.code_count, shape, np.int32)

    @functools.cached_property
    def vocoder(self) -> VocoderDriver:
        """The vocoder's graph."""
        spec, samples_per_frame = self.manifest.vocode, self.manifest.audio.samples_per_frame
        return VocoderDriver(self._graph(spec.graph), spec.state_width, spec.lookahead_frames, samples_per_frame)

    def _prompt(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.int32]:
        """Return random rows: text, then as many spoken frames, then a token of text to begin after."""
        config, ids = self.weights.config, self.weights.ids
        rows = np.zeros((count, self.weights.columns), np.int32)
        rows[:, 0] = rng.integers(0, ids.end, count)
        spoken = slice(count // 2, count - 1)
        rows[spoken, 1:] = rng.integers(0, self.weights.code_count, rows[spoken, 1:].shape)
        rows[spoken, 0] = np.minimum(ids.semantic_begin + rows[spoken, 1], config.vocabulary - 1)
        return rows

    def _talker(self) -> list[ParitySpec]:
        run, talker = self.talker_run, self.checkpoint.talker
        cache_error, agreement = 0.0, []
        for index, prompt in enumerate(run.prompts):
            rows = torch.from_numpy(np.concatenate([prompt, run.drawn[:, index]])).long()
            first, second, third = run.params[index].tolist()
            spoken = SpokenRows(rows, torch.from_numpy(run.random[:, index]), (first, second, third))
            caches, hidden = trace_caches(talker, rows)
            cache_error = max(cache_error, _cache_error(run, index, caches, len(rows) - 1))
            redrawn = redraw(self.weights, talker, spoken, hidden)
            agreement.append((redrawn == rows[len(prompt) :]).double().mean())
        graph, allowed = self.manifest.step.graph, self.talker_tolerance
        other = 1.0 - float(torch.stack(agreement).mean())
        case = f"prompts of {' and '.join(map(str, _PROMPT_ROWS))} rows"
        return [
            ParitySpec(graph, BACKEND, f"{case}: caches", cache_error, allowed.cache_error),
            ParitySpec(graph, BACKEND, f"{case}: share of other draws", other, allowed.draw_share),
        ]

    def _vocoder(self) -> list[ParitySpec]:
        frames, graph = self.random_frames(), self.manifest.vocode.graph
        with torch.no_grad():
            expected = self.checkpoint.codec.decode(torch.from_numpy(frames).long()[None], Past())[0].numpy()
        whole, *cut = (self.vocoder.stream([frames], [0], count)[0] for count in _CALL_FRAMES)
        error = float(np.abs(whole - expected).max() / np.abs(expected).max())
        cut_error = max(float(np.abs(whole - samples).max()) for samples in cut)
        return [
            ParitySpec(graph, BACKEND, f"{_FRAMES} frames: samples", error, self.codec_tolerance.sample_error),
            ParitySpec(graph, BACKEND, "whole and cut into calls of 1 and 5 frames", cut_error, 0.0),
        ]

    def _encoder(self) -> ParitySpec:
        assert self.manifest.reference is not None  # every bundle of this family clones
        samples = np.random.default_rng(_SEED).standard_normal((1, _REFERENCE_SAMPLES)).astype(np.float32) * 0.1
        with torch.no_grad():
            expected = self.checkpoint.codec.encode(torch.from_numpy(samples)).numpy()
        actual = self._graph(self.manifest.reference.graph).run({"samples": samples})["frames"]
        other = float(np.mean(actual != expected))
        allowed = self.codec_tolerance.draw_share
        return ParitySpec(self.manifest.reference.graph, BACKEND, "noise: share of other codes", other, allowed)

    def _graph(self, name: str) -> GraphRunner:
        return GraphRunner(self.bundle_dir / name)


def _cache_error(run: TalkerRun, index: int, caches: list[torch.Tensor], length: int) -> float:
    """Return the largest error of a key or value up to `length`, relative to the largest of its layer."""
    errors = []
    for place, expected in enumerate(caches):
        actual = run.caches[f"{'kv'[place % 2]}_{place // 2}"][index, :, :length]
        reference = expected[:, :length].numpy()
        errors.append(float(np.abs(actual - reference).max() / np.abs(reference).max()))
    return max(errors)
