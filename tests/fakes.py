"""Fakes for the edges of the server: a clock that stands still, an engine and a front end known in advance.

The scripted engine is strict: it asserts everything that the protocols of `trt_engines.base` ask of their caller.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from server.errors import VoiceNotFoundError
from server.prepared_segment import PreparedSegment, WordSpan
from server.segment_cutter import SegmentCutter
from server.voice import Voice
from tests.trt_engines.small_bundle import small_manifest
from trt_engines.base import Engine, PrefillChunk, StepFrame, StepRequest, VocodeItem
from trt_engines.errors import SlotError
from trt_engines.manifest import AudioSpec, Manifest

SAMPLE_RATE_HZ = 8000
SAMPLES_PER_FRAME = 400
FRAME_S = SAMPLES_PER_FRAME / SAMPLE_RATE_HZ
LOOKAHEAD_FRAMES = 1
FRAMES_PER_ROW = 2


class FakeClock:
    """Seconds that pass only when a test says so."""

    def __init__(self, now_s: float = 100.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        """Return the present moment."""
        return self.now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


def scripted_manifest() -> Manifest:
    """A manifest with 20 frames of 50 ms a second and a vocoder that looks one frame ahead."""
    return replace(small_manifest(), audio=AudioSpec(SAMPLE_RATE_HZ, SAMPLES_PER_FRAME))


def rows(count: int, first: int = 1) -> NDArray[np.int32]:
    """A prompt of this many rows; prompts with different `first` sound different."""
    return np.array([[first + i, -1] for i in range(count)], np.int32)


def expected_frames(row_ids: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """All frames that the scripted talker makes of a prompt: int32 [frames, 2]."""
    count = FRAMES_PER_ROW * len(row_ids)
    return np.array([_frame(int(row_ids[:, 0].sum()), seed, i) for i in range(count)], np.int32)


def expected_samples(row_ids: NDArray[np.int32], seed: int) -> NDArray[np.float32]:
    """All samples of a prompt, as if they were made at once: float32 [frames * SAMPLES_PER_FRAME]."""
    frames = expected_frames(row_ids, seed)
    following = np.vstack([frames[1:], np.zeros((1, 2), np.int32)])
    return np.concatenate([_samples(a, b, seed) for a, b in zip(frames, following, strict=True)])


@dataclass
class _TalkerSlot:
    rows: list[NDArray[np.int32]] = field(default_factory=list)
    is_ready: bool = False
    step_count: int = 0

    @property
    def row_count(self) -> int:
        return sum(map(len, self.rows))


class ScriptedTalker:
    """Speaks two frames per prompt row; the pointer is at the row that is spoken.

    Attributes:
        batches: The slots of every step, in order.
        obstacle: Called before each step with its slots; may wait, or raise, to play a slow or broken engine.
        failing: Slots that answer with a `SlotError`.
    """

    def __init__(self, slot_count: int, max_positions: int, chunk_rows: int) -> None:
        self.slot_count = slot_count
        self.batches: list[list[int]] = []
        self.obstacle: Callable[[list[int]], None] = lambda slots: None
        self.failing: set[int] = set()
        self._max_positions = max_positions
        self._chunk_rows = chunk_rows
        self._slots: dict[int, _TalkerSlot] = {}

    @property
    def used_slots(self) -> set[int]:
        """Slots that were prefilled and not released."""
        return set(self._slots)

    def prefill(self, chunks: Sequence[PrefillChunk]) -> None:
        """Keep the rows."""
        assert len({chunk.slot for chunk in chunks}) == len(chunks)
        for chunk in chunks:
            assert 0 <= chunk.slot < self.slot_count
            assert 1 <= len(chunk.row_ids) <= self._chunk_rows
            if chunk.start == 0:
                assert chunk.slot not in self._slots, f"slot {chunk.slot} was lent again before it was released"
                self._slots[chunk.slot] = _TalkerSlot()
            slot = self._slots[chunk.slot]
            assert chunk.start == slot.row_count
            assert not slot.is_ready
            slot.rows.append(chunk.row_ids)
            slot.is_ready = chunk.is_last

    def step(self, requests: Sequence[StepRequest]) -> list[StepFrame | SlotError]:
        """Make the next frame of every slot."""
        slots = [request.slot for request in requests]
        assert len(set(slots)) == len(slots)
        self.batches.append(slots)
        self.obstacle(slots)
        return [self._step(request) for request in requests]

    def release(self, slot: int) -> None:
        """Forget a slot."""
        self._slots.pop(slot, None)

    def _step(self, request: StepRequest) -> StepFrame | SlotError:
        if request.slot in self.failing:
            return SlotError(request.slot, f"Slot {request.slot} fails because the test wants it.")
        slot = self._slots[request.slot]
        assert slot.is_ready
        assert request.step_index == slot.step_count
        assert slot.row_count + slot.step_count < self._max_positions + 1
        slot.step_count += 1
        total = sum(int(part[:, 0].sum()) for part in slot.rows)
        frame = np.array(_frame(total, request.seed, request.step_index), np.int32)
        is_over = request.step_index == FRAMES_PER_ROW * slot.row_count
        pointer = min(request.step_index // FRAMES_PER_ROW, slot.row_count - 1)
        return StepFrame(request.slot, frame, not is_over, is_over, pointer)


class ScriptedVocoder:
    """Each frame's samples depend on it, on the frame after it and on the seed.

    Attributes:
        batches: The slots of every batch, in order.
        obstacle: Called before each batch with its slots; may wait or raise.
        failing: Slots that answer with a `SlotError`.
    """

    samples_per_frame = SAMPLES_PER_FRAME
    lookahead_frames = LOOKAHEAD_FRAMES

    def __init__(self, slot_count: int) -> None:
        self.slot_count = slot_count
        self.batches: list[list[int]] = []
        self.obstacle: Callable[[list[int]], None] = lambda slots: None
        self.failing: set[int] = set()
        self._held: dict[int, NDArray[np.int32]] = {}

    def vocode(self, items: Sequence[VocodeItem]) -> list[NDArray[np.float32] | SlotError]:
        """Return the samples of all frames whose following frame is known."""
        slots = [item.slot for item in items]
        assert len(set(slots)) == len(slots)
        self.batches.append(slots)
        self.obstacle(slots)
        return [self._vocode(item) for item in items]

    def release(self, slot: int) -> None:
        """Forget a slot."""
        self._held.pop(slot, None)

    def _vocode(self, item: VocodeItem) -> NDArray[np.float32] | SlotError:
        if item.slot in self.failing:
            return SlotError(item.slot, f"Slot {item.slot} fails because the test wants it.")
        assert item.is_first or item.slot in self._held
        held = np.zeros((0, 2), np.int32) if item.is_first else self._held[item.slot]
        frames = np.vstack([held, item.frames, *([np.zeros((1, 2), np.int32)] if item.is_last else [])])
        self._held[item.slot] = frames[-1:]
        parts = [_samples(frames[i], frames[i + 1], item.seed) for i in range(len(frames) - 1)]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def scripted_engine(slot_count: int) -> Engine:
    """An engine of scripted parts; reach them as `engine.talker` and `engine.vocoder`."""
    manifest = scripted_manifest()
    talker = ScriptedTalker(slot_count, manifest.max_positions, manifest.prefill.chunk_rows)
    return Engine(manifest, talker, ScriptedVocoder(slot_count))


def _frame(total: int, seed: int, index: int) -> tuple[int, int]:
    return (total * 31 + seed * 17 + index * 7) % 997, index


def _samples(frame: NDArray[np.int32], following: NDArray[np.int32], seed: int) -> NDArray[np.float32]:
    mixed = int(frame[0]) * 131 + int(frame[1]) * 29 + int(following[0]) * 7 + seed
    ramp = (np.arange(SAMPLES_PER_FRAME, dtype=np.int64) * 37 + mixed) % 1999
    return (ramp.astype(np.float32) / np.float32(1000.0) - np.float32(1.0)) * np.float32(0.5)


class ScriptedFrontend:
    """Gives every word one row, so that each lasts two frames; cannot speak digits.

    Attributes:
        obstacle: Called before each preparation with its text; may wait, or raise.
    """

    def __init__(self) -> None:
        self.obstacle: Callable[[str], None] = lambda text: None

    def cutter(self) -> SegmentCutter:
        """Cut by sentences and clauses."""
        return SegmentCutter()

    def prepare(self, text: str, voice: Voice) -> tuple[PreparedSegment, ...]:
        """Turn a text into one segment."""
        self.obstacle(text)
        found = list(re.finditer(r"[^\W\d]+", text))
        spans = tuple(WordSpan(m.group(), i, i + 1, m.start(), m.end()) for i, m in enumerate(found))
        row_ids = np.array([[1 + sum(m.group().encode()) % 97, -1] for m in found], np.int32).reshape(-1, 2)
        return (PreparedSegment(text, row_ids, spans, tuple(re.findall(r"\d+", text)), 300 if found else 0),)


class ScriptedVoices:
    """One voice, whatever it is called, unless it is called nobody."""

    def get(self, name: str) -> Voice:
        """Return the voice."""
        if name == "nobody":
            raise VoiceNotFoundError("There is no voice 'nobody'.")
        return Voice(name or "ida", ("en-US",), "neutral", "A scripted voice.", SAMPLE_RATE_HZ)
