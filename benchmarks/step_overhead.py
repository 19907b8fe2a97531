"""What a step costs beside the networks: scheduling, requests, bookkeeping, with an engine that does nothing.

    python -m benchmarks.step_overhead voices/default

Prints microseconds of processor time per step, everything between taking messages and the next step included, for
batches of several sizes. The default voice takes some 2,500 (1 row) to 7,000 (32 rows) for the networks themselves.
"""

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.config import SchedulingSettings
from server.kv_cache import SlotPool
from server.model_runner import ModelRunner, Script
from server.prepared_segment import PreparedSegment
from server.progress import Ramp, UtteranceProgress
from server.scheduler import Scheduler
from server.step import EngineLimits, VocodeResult
from server.utterance import Segment, SegmentId, UtteranceId
from trt_engines.base import Engine, PrefillChunk, StepFrame, StepRequest, VocodeItem
from trt_engines.errors import SlotError
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest

STEPS = 300
FRAME = np.zeros(4, np.int32)


class NoTalker:
    """Answers at once."""

    def __init__(self, slot_count: int) -> None:
        self.slot_count = slot_count

    def prefill(self, chunks: Sequence[PrefillChunk]) -> None:
        """Do nothing."""

    def step(self, requests: Sequence[StepRequest]) -> list[StepFrame | SlotError]:
        """Return a frame for each slot."""
        return [StepFrame(request.slot, FRAME, True, False, request.step_index) for request in requests]

    def release(self, slot: int) -> None:
        """Do nothing."""


class NoVocoder:
    """Is never called."""

    def __init__(self, slot_count: int, manifest: Manifest) -> None:
        self.slot_count = slot_count
        self.samples_per_frame = manifest.audio.samples_per_frame
        self.lookahead_frames = manifest.vocode.lookahead_frames

    def vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        """Return no samples."""
        return [np.zeros(0, np.float32) for _ in items]

    def release(self, slot: int) -> None:
        """Do nothing."""


def step_us(manifest: Manifest, rows: int) -> float:
    """Return the processor time of a step of so many rows, in microseconds, without the networks."""
    engine = Engine(manifest, NoTalker(rows), NoVocoder(rows, manifest))
    runner = ModelRunner(engine)
    limits = EngineLimits(10**9, manifest.prefill.chunk_rows)
    scheduler = Scheduler(SchedulingSettings(), limits, math.inf, SlotPool(rows), SlotPool(rows))
    vocode, frame_s = manifest.vocode, 1.0 / manifest.audio.frame_rate_hz
    ramp = Ramp(vocode.first_chunk_frames, vocode.chunk_frames, 2.0, frame_s, vocode.lookahead_frames)
    row_ids = np.zeros((60, len(manifest.row.columns)), np.int32)
    for number in range(rows):
        utterance = UtteranceProgress(UtteranceId(number), ramp, math.inf)
        utterance.read_s = math.inf
        scheduler.add_utterance(utterance)
        segment = Segment(SegmentId(number), utterance.id, 0, len(row_ids), 10**9)
        prepared = PreparedSegment("", row_ids, (), (), segment.max_frames)
        runner.add(Script(segment, prepared, tuple(spec.default for spec in manifest.step.params), number))
        scheduler.add_segment(segment, 0.0)
    began_s = time.process_time()
    for turn in range(STEPS):
        step = scheduler.schedule(turn * frame_s)
        items = [runner.vocode_item(work) for work in step.vocode]
        scheduler.update(step, runner.run(step))
        if items:
            results = [VocodeResult(work.segment_id, work.frame_count * frame_s, False, False) for work in step.vocode]
            scheduler.vocoded(results, turn * frame_s, 0.0, 0)
    return (time.process_time() - began_s) / STEPS * 1e6


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    manifest = load_manifest(parser.parse_args().bundle)
    print("| rows | us per step |\n|---|---|")
    for rows in (1, 8, 32, 128, 512):
        print(f"| {rows} | {min(step_us(manifest, rows) for _ in range(3)):,.0f} |")


if __name__ == "__main__":
    main()
