"""Proves a bundle of the `pointer` family at every corner of its recipe, or refuses it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from build_engines.errors import ParityError
from build_engines.networks.offline_vocoder import OfflineVocoder
from build_engines.networks.pointer_talker import PointerTalker
from build_engines.pointer.stop_rule import StopRule
from build_engines.recipes import PointerRecipe, TalkerCorner, Tolerance, VocoderCorner
from build_engines.verification.graph_runner import BACKEND, GraphRunner
from build_engines.verification.talker_parity import talker_parity
from build_engines.verification.talker_run import TalkerDriver
from build_engines.verification.vocoder_parity import VocoderDriver, vocoder_parity
from trt_engines.manifest import Manifest, ParitySpec

_SEED = 7


@dataclass(frozen=True)
class PointerVerifier:
    """The bundle, the torch networks it was made from, and what to run.

    Attributes:
        bundle_dir: the bundle.
        manifest: its manifest.
        talker, vocoder: the torch networks.
        recipe: shapes to run.
        talker_tolerance, vocoder_tolerance: the largest errors.
    """

    bundle_dir: Path
    manifest: Manifest
    talker: PointerTalker
    vocoder: OfflineVocoder
    recipe: PointerRecipe
    talker_tolerance: Tolerance
    vocoder_tolerance: Tolerance

    def verify(self) -> tuple[ParitySpec, ...]:
        """Return the result of every case.

        Raises:
            ParityError: A case is beyond its tolerance.
        """
        talker = [result for corner in self.recipe.talker_corners for result in self._talker_corner(corner)]
        vocoder = [result for corner in self.recipe.vocoder_corners for result in self._vocoder_corner(corner)]
        results = (*talker, *vocoder, self._cut_invariance())
        failed = [result for result in results if not result.worst_error <= result.tolerance]
        if failed:
            lines = [f"{r.graph}, {r.case}: {r.worst_error:.3g}, allowed {r.tolerance:.3g}" for r in failed]
            raise ParityError(
                f"{len(failed)} of {len(results)} cases stray too far from torch: {'; '.join(lines)}. The bundle is "
                "refused; choose a storage with more bits, or mend the graph."
            )
        return results

    def talker_driver(self, corner: TalkerCorner) -> TalkerDriver:
        """Return the talker's graphs, to be run at a corner."""
        prefill, step = (self._graph(part.graph) for part in (self.manifest.prefill, self.manifest.step))
        return TalkerDriver(prefill, step, self.manifest.frame.width, corner.chunk_rows, corner.capacity)

    def vocoder_driver(self) -> VocoderDriver:
        """Return the vocoder's graph."""
        return VocoderDriver.of(self._graph(self.manifest.vocode.graph), self.manifest)

    def prompts(self, count: int) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
        """Return random phonemes: prompts of different lengths."""
        random = np.random.default_rng(_SEED)
        lengths = random.integers(1, self.recipe.longest_prompt + 1, count)
        phonemes = self.talker.config.phoneme_count
        return [random.integers(0, phonemes, length).astype(np.int32) for length in lengths]

    def codes(self, count: int) -> list[np.ndarray[tuple[int, int], np.dtype[np.int32]]]:
        """Return random frames: segments of different lengths, the first one the longest."""
        random = np.random.default_rng(_SEED)
        lengths = [self.recipe.vocoder_frames, *random.integers(1, self.recipe.vocoder_frames, count - 1)]
        shape = (self.manifest.frame.width,)
        size = self.vocoder.codec.fsq.codebook_size
        return [random.integers(0, size, (length, *shape)).astype(np.int32) for length in lengths]

    def voices(self, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        """Return voice vectors: zeros first, then random ones whose pitch is up to a third lower or higher."""
        random = np.random.default_rng(_SEED)
        vectors = random.standard_normal((count, self.manifest.vocode.voice_width)).astype(np.float32)
        vectors[:, -2:] = random.uniform(-0.05, 0.05, vectors[:, -2:].shape)
        vectors[0] = 0.0
        return vectors

    def params(self, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        """Return defaults for the first half of a batch, unbounded draws for the second, greedy ones for the last."""
        defaults = [param.default for param in self.manifest.step.params]
        rows = np.tile(np.asarray(defaults, np.float32), (count, 1))
        rows[(count + 1) // 2 :] = 1.0
        rows[max(1, count - 1) :, ::2] = 0.0
        return rows

    def _graph(self, name: str) -> GraphRunner:
        return GraphRunner(self.bundle_dir / name)

    def _talker_corner(self, corner: TalkerCorner) -> list[ParitySpec]:
        driver = self.talker_driver(corner)
        run = driver.speak(self.prompts(corner.batch), self.params(corner.batch), self.recipe.steps)
        rule = StopRule(self.talker.config.end_dwell, self.manifest.step.min_frames)
        parity, allowed = talker_parity(self.talker, rule, run), self.talker_tolerance
        case = f"batch {corner.batch}, capacity {corner.capacity}, {corner.chunk_rows} rows a chunk"
        graph = self.manifest.step.graph
        return [
            ParitySpec(graph, BACKEND, f"{case}: caches", parity.cache_error, allowed.cache_error),
            ParitySpec(graph, BACKEND, f"{case}: share of other draws", parity.draw_share, allowed.draw_share),
            ParitySpec(graph, BACKEND, f"{case}: broken rules", float(parity.broken_rules), 0.0),
        ]

    def _vocoder_corner(self, corner: VocoderCorner) -> list[ParitySpec]:
        codes, allowed = self.codes(corner.batch), self.vocoder_tolerance
        voices = self.voices(corner.batch)
        parity = vocoder_parity(self.vocoder_driver(), self.vocoder, codes, corner.chunk_frames, voices)
        graph, case = self.manifest.vocode.graph, f"batch {corner.batch}, {corner.chunk_frames} frames a call"
        results = [
            ParitySpec(graph, BACKEND, f"{case}: spectrum, dB", parity.spectrum_error_db, allowed.spectrum_error_db)
        ]
        if allowed.holds_phase:
            results.append(ParitySpec(graph, BACKEND, f"{case}: samples", parity.sample_error, allowed.sample_error))
        return results

    def _cut_invariance(self) -> ParitySpec:
        """Vocode one segment alone in one call, and among others frame by frame: the samples must be the same bits."""
        driver, codes, voices = self.vocoder_driver(), self.codes(3), self.voices(3)[::-1]
        whole = driver.stream(codes[:1], [0], len(codes[0]), voices[:1])[0]
        cut = driver.stream(codes, [0, 1, 2], 1, voices)[0]
        error = float(np.abs(whole - cut).max())
        return ParitySpec(self.manifest.vocode.graph, BACKEND, "whole alone, cut among others", error, 0.0)
