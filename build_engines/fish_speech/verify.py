"""Proves a bundle of the `fish_speech` family against torch networks with the same rounded weights, or refuses it.

Where products round their inputs as well, everything is proven with that switched off, at the tolerances of floats; the
graphs as they ship then have to follow torch networks that round their inputs too.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from build_engines.errors import ParityError
from build_engines.fish_speech.causal import Past
from build_engines.fish_speech.checkpoint import FishCheckpoint
from build_engines.fish_speech.recipe import FISH_TOLERANCE, FishStorage, FishTolerance
from build_engines.fish_speech.rounded_inputs import rounded_inputs
from build_engines.fish_speech.talker_run import TalkerRun, speak
from build_engines.fish_speech.talker_trace import SpokenRows, redraw, trace_caches
from build_engines.fish_speech.talker_weights import TalkerWeights
from build_engines.verification.graph_runner import BACKEND, GraphRunner, has_rounded_inputs
from build_engines.verification.vocoder_parity import VocoderDriver
from trt_engines.manifest import Manifest, ParitySpec

_SEED = 11
_PROMPT_ROWS = (29, 11)
_STEPS = 10
_FRAMES = 12
_CALL_FRAMES = (12, 1, 5)
_REFERENCE_SAMPLES = 20_000
_WIDE = (1.0, 1.0, 1.5)

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class FishVerifier:
    """The bundle, and what it must equal.

    Attributes:
        bundle_dir: the bundle.
        manifest: its manifest.
        checkpoint: the torch networks, with what the bundle's storage has left of their weights.
        weights: what its talker's graphs were made of.
        storage: what their weights went through.
        tolerance: the largest errors.
    """

    bundle_dir: Path
    manifest: Manifest
    checkpoint: FishCheckpoint
    weights: TalkerWeights
    storage: FishStorage = field(default_factory=FishStorage)
    tolerance: FishTolerance = FISH_TOLERANCE

    def verify(self) -> tuple[ParitySpec, ...]:
        """Return the result of every case.

        Raises:
            ParityError: A case is beyond its tolerance.
        """
        results = (*self._talker(), *self._vocoder(), self._encoder(), *self._as_shipped())
        failed = [result for result in results if not result.worst_error <= result.tolerance]
        if failed:
            lines = [f"{r.graph}, {r.case}: {r.worst_error:.3g}, allowed {r.tolerance:.3g}" for r in failed]
            raise ParityError(
                f"{len(failed)} of {len(results)} cases stray too far from torch: {'; '.join(lines)}. The bundle is "
                "refused: its weights or its graphs are not those of the checkpoint. Build it anew, or mend the graph."
            )
        return results

    @functools.cached_property
    def talker_run(self) -> TalkerRun:
        """Two random prompts spoken by the graphs as they ship, with the default parameters and with the widest."""
        return self._speak(exact_products=False)

    @functools.cached_property
    def vocoder(self) -> VocoderDriver:
        """The vocoder's graph as it ships."""
        return self._vocoder_driver(exact_products=False)

    def random_frames(self) -> npt.NDArray[np.int32]:
        """Return random codes int32 [frames, codebooks]."""
        codec = self.checkpoint.codec.config
        shape = (_FRAMES, codec.codebook_count)
        return np.random.default_rng(_SEED).integers(0, codec.code_count, shape, np.int32)

    def _speak(self, *, exact_products: bool) -> TalkerRun:
        rng, config = np.random.default_rng(_SEED), self.weights.config
        defaults = [param.default for param in self.manifest.step.params]
        prompts = [self._prompt(rng, count) for count in _PROMPT_ROWS]
        parts = self.manifest.prefill, self.manifest.step
        prefill, step = (self._graph(part.graph, exact_products=exact_products) for part in parts)
        steps = min(_STEPS, config.max_positions - max(_PROMPT_ROWS))
        return speak(prefill, step, prompts, np.asarray([defaults, _WIDE], np.float32), steps)

    def _vocoder_driver(self, *, exact_products: bool) -> VocoderDriver:
        graph = self._graph(self.manifest.vocode.graph, exact_products=exact_products)
        return VocoderDriver.of(graph, self.manifest)

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
        graph, talker = self.manifest.step.graph, self.checkpoint.talker
        run = self._speak(exact_products=True) if self._rounds_inputs(graph) else self.talker_run
        cache_error, agreement = 0.0, []
        for index, prompt in enumerate(run.prompts):
            rows = run.rows(index)
            caches, hidden = trace_caches(talker, rows)
            cache_error = max(cache_error, *(_worst(*pair) for pair in _cache_pairs(run, index, caches)))
            first, second, third = run.params[index].tolist()
            spoken = SpokenRows(rows, torch.from_numpy(run.random[:, index]), (first, second, third))
            redrawn = redraw(self.weights, talker, spoken, hidden)
            agreement.append((redrawn == rows[len(prompt) :]).double().mean())
        other = 1.0 - float(torch.stack(agreement).mean())
        case = f"prompts of {' and '.join(map(str, _PROMPT_ROWS))} rows"
        return [
            ParitySpec(graph, BACKEND, f"{case}: caches", cache_error, self.tolerance.cache_error),
            ParitySpec(graph, BACKEND, f"{case}: share of other draws", other, self.tolerance.draw_share),
        ]

    def _vocoder(self) -> list[ParitySpec]:
        frames, graph = self.random_frames(), self.manifest.vocode.graph
        exact = self._vocoder_driver(exact_products=True) if self._rounds_inputs(graph) else self.vocoder
        error = _worst(exact.stream([frames], [0], _FRAMES)[0], self._decoded())
        whole, *cut = (self.vocoder.stream([frames], [0], count)[0] for count in _CALL_FRAMES)
        cut_error = max(float(np.abs(whole - samples).max()) for samples in cut)
        return [
            ParitySpec(graph, BACKEND, f"{_FRAMES} frames: samples", error, self.tolerance.sample_error),
            ParitySpec(graph, BACKEND, "whole and cut into calls of 1 and 5 frames", cut_error, 0.0),
        ]

    def _encoder(self) -> ParitySpec:
        assert self.manifest.reference is not None  # every bundle of this family clones
        graph = self.manifest.reference.graph
        samples = np.random.default_rng(_SEED).standard_normal((1, _REFERENCE_SAMPLES)).astype(np.float32) * 0.1
        with torch.no_grad():
            expected = self.checkpoint.codec.encode(torch.from_numpy(samples)).numpy()
        actual = self._graph(graph, exact_products=True).run({"samples": samples})["frames"]
        other = float(np.mean(actual != expected))
        return ParitySpec(graph, BACKEND, "noise: share of other codes", other, self.tolerance.draw_share)

    def _as_shipped(self) -> Iterator[ParitySpec]:
        """Compare the graphs whose products round their inputs with networks that do so as well."""
        step, vocode, allowed = self.manifest.step.graph, self.manifest.vocode.graph, self.tolerance.rounded_input_error
        with rounded_inputs(self.checkpoint, self.weights, self.storage):
            if self._rounds_inputs(step):
                run, errors = self.talker_run, [0.0]
                for index in range(len(run.prompts)):
                    caches, _ = trace_caches(self.checkpoint.talker, run.rows(index))
                    errors += [_relative(*pair) for pair in _cache_pairs(run, index, caches)]
                yield ParitySpec(step, BACKEND, "inputs of products rounded: caches", max(errors), allowed)
            if self._rounds_inputs(vocode):
                samples = self.vocoder.stream([self.random_frames()], [0], _FRAMES)[0]
                error = _relative(samples, self._decoded())
                yield ParitySpec(vocode, BACKEND, "inputs of products rounded: samples", error, allowed)

    def _decoded(self) -> Floats:
        """Return torch's samples of the random frames."""
        with torch.no_grad():
            codes = torch.from_numpy(self.random_frames()).long()[None]
            samples: Floats = self.checkpoint.codec.decode(codes, Past())[0].numpy()
        return samples

    def _graph(self, name: str, *, exact_products: bool) -> GraphRunner:
        return GraphRunner(self.bundle_dir / name, exact_products=exact_products)

    def _rounds_inputs(self, name: str) -> bool:
        return has_rounded_inputs(self.bundle_dir / name)


def _cache_pairs(run: TalkerRun, index: int, caches: list[torch.Tensor]) -> Iterator[tuple[Floats, Floats]]:
    """Give keys and values of one layer after another: the graph's and torch's, up to the last row that was fed."""
    length = len(run.rows(index)) - 1
    for place, expected in enumerate(caches):
        actual = run.caches[f"{'kv'[place % 2]}_{place // 2}"]
        yield actual[index, :, :length], expected[:, :length].numpy()


def _worst(actual: Floats, expected: Floats) -> float:
    """Return the largest difference, relative to the largest that was expected."""
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def _relative(actual: Floats, expected: Floats) -> float:
    """Return the norm of the difference, relative to that of what was expected."""
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))
