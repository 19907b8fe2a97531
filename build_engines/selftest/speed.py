"""How fast the engine is: step time per batch, time to first audio, streams in real time."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from build_engines.selftest.finding import Finding
from build_engines.selftest.spoken_prompts import SpokenPrompts
from trt_engines.base import Engine, VocodeItem
from trt_engines.tensorrt.buckets import row_buckets

_WARM_STEPS = 5
_TIMED_STEPS = 30

Clock = Callable[[], float]


@dataclass(frozen=True)
class Speed:
    """Measures one engine.

    Attributes:
        engine: the engine.
        prompts: what it speaks.
        step_bytes: bytes that a step of so many rows must read from memory at least.
        bytes_per_s: how fast the memory was measured to be; 0 if it was not.
        clock: seconds, monotonic.
    """

    engine: Engine
    prompts: SpokenPrompts
    step_bytes: Callable[[int], int]
    bytes_per_s: float
    clock: Clock = time.perf_counter

    def findings(self) -> Iterator[Finding]:
        """Yield one finding after the other; none has a limit, since machines differ."""
        for rows in row_buckets(self.engine.talker.slot_count):
            yield Finding(f"step of {rows} rows", 1e3 * self._step_s(rows), "ms")
            if self.bytes_per_s:
                yield Finding(f"floor of {rows} rows", 1e3 * self.step_bytes(rows) / self.bytes_per_s, "ms")
        yield Finding("time to first audio, alone", 1e3 * self._first_audio_s(), "ms")
        yield Finding("streams in real time", self._real_time_streams())

    def _step_s(self, rows: int) -> float:
        """Return the median time of a step; all slots go on from where their prompt ended."""
        talker, slots = self.engine.talker, range(rows)
        for slot in slots:
            self.prompts.prefill(talker, slot)
        times = []
        for index in range(_WARM_STEPS + _TIMED_STEPS):
            start = self.clock()
            self.prompts.step(talker, slots, slots, index)
            times.append(self.clock() - start)
        for slot in slots:
            talker.release(slot)
        return median(times[_WARM_STEPS:])

    def _first_audio_s(self) -> float:
        """Return the median time from a whole prompt to the first samples."""
        return median(self._first_audio_once_s() for _ in range(5))

    def _first_audio_once_s(self) -> float:
        talker, vocoder, spec = self.engine.talker, self.engine.vocoder, self.engine.manifest.vocode
        start = self.clock()
        self.prompts.prefill(talker, 0)
        frame_count = spec.first_chunk_frames + spec.lookahead_frames
        frames = [self.prompts.step(talker, [0], [1], index)[0].frame for index in range(frame_count)]
        vocoder.vocode([VocodeItem(0, np.stack(frames), 1, is_first=True, is_last=False)])
        taken_s = self.clock() - start
        talker.release(0)
        vocoder.release(0)
        return taken_s

    def _real_time_streams(self) -> int:
        """Return by bisection how many slots can be stepped and vocoded faster than their audio plays."""
        fitting, beyond = 0, self.engine.talker.slot_count + 1
        while beyond - fitting > 1:
            middle = (fitting + beyond) // 2
            fitting, beyond = (middle, beyond) if self._keeps_up(middle) else (fitting, middle)
        return fitting

    def _keeps_up(self, stream_count: int) -> bool:
        """Make a second of audio for each stream, in chunks, one thread doing all."""
        manifest, slots = self.engine.manifest, range(stream_count)
        chunk = manifest.vocode.chunk_frames
        chunk_count = max(1, round(manifest.audio.frame_rate_hz / chunk))
        for slot in slots:
            self.prompts.prefill(self.engine.talker, slot)
        start = self.clock()
        for turn in range(chunk_count):
            made = [self.prompts.step(self.engine.talker, slots, slots, chunk * turn + index) for index in range(chunk)]
            items = [
                VocodeItem(slot, np.stack([step[slot].frame for step in made]), slot, is_first=turn == 0, is_last=False)
                for slot in slots
            ]
            self.engine.vocoder.vocode(items)
        taken_s = self.clock() - start
        for slot in slots:
            self.engine.talker.release(slot)
            self.engine.vocoder.release(slot)
        return taken_s < chunk_count * chunk / manifest.audio.frame_rate_hz
