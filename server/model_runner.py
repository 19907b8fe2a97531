"""Turns a `Step` into calls of the engine, and what the engine gives back into a `StepResult`.

Keeps what the scheduler never sees: the rows of every segment, its frames, and the words that have begun to sound.
Lives on the model thread.
"""

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from server.chunker import SpokenWord
from server.prepared_segment import PreparedSegment
from server.step import DecodeResult, DecodeWork, PrefillWork, Step, StepResult, VocodeWork
from server.utterance import Segment, SegmentId
from trt_engines.base import Engine, PrefillChunk, StepFrame, StepRequest, VocodeItem
from trt_engines.errors import SlotError


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """All that is needed to speak a segment.

    Attributes:
        segment: What the scheduler knows of it.
        prepared: Its rows, words and text.
        params: One value per parameter of the manifest.
        seed: Decides every random number of the segment.
        voice: Voice vector of the vocoder, float32 [voice width]; None for the voice it was trained on first.
    """

    segment: Segment
    prepared: PreparedSegment
    params: tuple[float, ...]
    seed: int
    voice: NDArray[np.float32] | None = None


@dataclass(slots=True, eq=False)
class _Take:
    """A script while it is spoken."""

    script: Script
    frames: list[NDArray[np.generic]] = field(default_factory=list)
    spoken: list[SpokenWord] = field(default_factory=list)
    sent_word_count: int = 0
    last_phoneme_frame_count: int = 0
    pause_frame_count: int = 0

    def is_over(self, pointer: int) -> bool:
        """Count a frame with this pointer; return whether the closing pause has lasted for long enough."""
        pause = self.script.prepared.closing_pause
        if pause is None or pointer < pause.first_row - 1:
            return False
        self.last_phoneme_frame_count += pointer < pause.first_row
        if pointer < pause.first_row and self.last_phoneme_frame_count <= pause.sound_frames:
            return False
        self.pause_frame_count += 1
        return self.pause_frame_count >= pause.max_frames


class ModelRunner:
    """The only part of the server that calls an engine's talker.

    Args:
        engine: A loaded bundle.
    """

    def __init__(self, engine: Engine) -> None:
        self._talker = engine.talker
        self._no_frames = np.zeros((0, engine.manifest.frame.width), engine.manifest.frame.dtype)
        self._takes: dict[SegmentId, _Take] = {}

    def add(self, script: Script) -> None:
        """Keep a segment until a step drops it."""
        self._takes[script.segment.id] = _Take(script)

    def script(self, segment_id: SegmentId) -> Script:
        """Return the script of a segment that is kept."""
        return self._takes[segment_id].script

    def run(self, step: Step) -> StepResult:
        """Free slots, prefill and make one frame of every segment of the step."""
        for slot in step.released_slots:
            self._talker.release(slot)
        for segment_id in step.dropped:
            self._takes.pop(segment_id, None)
        began_s = time.perf_counter()
        if step.prefill:
            self._talker.prefill([self._prefill_chunk(work) for work in step.prefill])
        prefilled_s = time.perf_counter()
        frames = self._talker.step([self._request(work) for work in step.decode]) if step.decode else ()
        ended_s = time.perf_counter()
        decoded = tuple(self._keep(work, frame) for work, frame in zip(step.decode, frames, strict=True))
        return StepResult(decoded, prefilled_s - began_s, ended_s - prefilled_s)

    def frames(self, segment_id: SegmentId) -> NDArray[np.generic]:
        """Return the frames made of a segment that is kept."""
        frames = self._takes[segment_id].frames
        return np.stack(frames) if frames else self._no_frames

    def vocode_item(self, work: VocodeWork) -> VocodeItem:
        """Gather the frames of a piece of work for the vocoder."""
        take = self._takes[work.segment_id]
        frames = take.frames[work.start : work.start + work.frame_count]
        stacked = np.stack(frames) if frames else self._no_frames
        script = take.script
        return VocodeItem(work.slot, stacked, script.seed, work.is_first, work.is_last, script.voice)

    def words_within(self, work: VocodeWork) -> tuple[SpokenWord, ...]:
        """Return the words that begin in the audio of a piece of work and were not returned before."""
        take = self._takes[work.segment_id]
        first = last = take.sent_word_count
        while last < len(take.spoken) and take.spoken[last].frame_index < work.audio_end_frames:
            last += 1
        take.sent_word_count = last
        return tuple(take.spoken[first:last])

    def _prefill_chunk(self, work: PrefillWork) -> PrefillChunk:
        rows = self._takes[work.segment_id].script.prepared.row_ids[work.start : work.start + work.row_count]
        return PrefillChunk(work.slot, rows, work.start, work.is_last)

    def _request(self, work: DecodeWork) -> StepRequest:
        script = self._takes[work.segment_id].script
        return StepRequest(work.slot, script.params, script.seed, work.step_index)

    def _keep(self, work: DecodeWork, frame: StepFrame | SlotError) -> DecodeResult:
        if isinstance(frame, SlotError):
            return DecodeResult(work.segment_id, emitted=False, done=True, failed=True)
        done = frame.done
        if frame.emit:
            take = self._takes[work.segment_id]
            words = take.script.prepared.words
            while len(take.spoken) < len(words) and frame.pointer >= words[len(take.spoken)].first_row:
                take.spoken.append(SpokenWord(words[len(take.spoken)], len(take.frames)))
            take.frames.append(frame.frame)
            done = take.is_over(frame.pointer) or done
        return DecodeResult(work.segment_id, frame.emit, done, failed=False)
