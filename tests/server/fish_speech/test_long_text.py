"""A long text through the real engine: every segment's prompt and frames are those of torch, to the last one."""

import asyncio
import dataclasses
import math
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from build_engines.fish_speech.checkpoint import FishCheckpoint
from server.config import EngineSettings, SegmentSettings, Settings
from server.fish_speech.prompt import PromptBuilder, Rows
from server.fish_speech.text import segment_text, split_text
from server.fish_speech.tokenizer import load_tokenizer
from server.frontend import load_frontend
from server.metrics import Metrics
from server.synthesizer import Synthesizer
from server.utterance import Event, SegmentFinished, UtteranceConfig
from server.voices import VoiceCatalogue
from tests.server.fish_speech.recorded_bundle import (
    TOKENIZER_FILE,
    recorded_checkpoint,
    recorded_reference,
    write_recorded_bundle,
)
from tests.server.fish_speech.torch_teller import ToldSegment, TorchTeller
from trt_engines.base import PrefillChunk, StepFrame, StepRequest, Talker
from trt_engines.engine_options import EngineOptions
from trt_engines.errors import SlotError
from trt_engines.load import load_engine

LIMIT_BYTES, LONGEST_FRAMES, SEED = 60, 24, 11
PARAMS = {"temperature": 0.9, "top_p": 0.9, "repetition_penalty": 1.3}
STORY = (
    "The keeper of the lighthouse wrote a letter every evening. He never sent one. On the first of May it was 3.5 "
    "degrees outside, and the sea was loud! Who would have read it? A fisherman, perhaps, or a child who finds a "
    "bottle between the stones; nobody else ever came so far north. In the ninth year a ship lay before the island for "
    "two days. 你觉得怎么样。 Its captain asked for water, for wood, and for news of the war, of which the keeper knew "
    "nothing. They played cards until the morning. Then the ship was gone, and with it all of the letters, every one."
)


class ListeningTalker:
    """A talker that remembers the prompt and the frames of everything it speaks."""

    def __init__(self, talker: Talker) -> None:
        self.slot_count = talker.slot_count
        self.prompts: list[list[NDArray[np.int32]]] = []
        self.frames: list[list[NDArray[np.generic]]] = []
        self._talker = talker
        self._takes: dict[int, int] = {}

    def prefill(self, chunks: Sequence[PrefillChunk]) -> None:
        """Listen to the rows."""
        for chunk in chunks:
            if chunk.start == 0:
                self._takes[chunk.slot] = len(self.prompts)
                self.prompts.append([])
                self.frames.append([])
            self.prompts[self._takes[chunk.slot]].append(chunk.row_ids.copy())
        self._talker.prefill(chunks)

    def step(self, requests: Sequence[StepRequest]) -> Sequence[StepFrame | SlotError]:
        """Listen to the frames."""
        results = self._talker.step(requests)
        for result in results:
            if isinstance(result, StepFrame) and result.emit:
                self.frames[self._takes[result.slot]].append(result.frame.copy())
        return results

    def release(self, slot: int) -> None:
        """Pass it on."""
        self._talker.release(slot)


@pytest.fixture(scope="module")
def checkpoint() -> FishCheckpoint:
    """The networks of the recorded run: a context of 512 rows."""
    return recorded_checkpoint()


@pytest.fixture(scope="module")
def bundle_dir(checkpoint: FishCheckpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of them whose segments have few frames, so that many fit into the test."""
    bundle_dir = tmp_path_factory.mktemp("long") / "bundle"
    write_recorded_bundle(bundle_dir, checkpoint, LONGEST_FRAMES)
    return bundle_dir


@pytest.fixture
async def house(bundle_dir: Path) -> AsyncIterator[tuple[Synthesizer, ListeningTalker]]:
    """A synthesizer on the real engine, and what listens to its talker."""
    engine = load_engine(bundle_dir, EngineOptions(slot_count=3, threads=1))
    talker = ListeningTalker(engine.talker)
    frontend = load_frontend(bundle_dir, engine.manifest, segments=SegmentSettings(LIMIT_BYTES, first_bytes=0))
    voices = VoiceCatalogue(bundle_dir, engine.manifest)
    settings = Settings(engine=EngineSettings(slot_count=3))
    synthesizer = Synthesizer(dataclasses.replace(engine, talker=talker), frontend, voices, settings, Metrics())
    synthesizer.start()
    yield synthesizer, talker
    await synthesizer.stop()
    synthesizer.check_integrity()
    engine.close()


async def _tell(synthesizer: Synthesizer, seed: int = SEED) -> list[Event]:
    """Speak the story, a few characters a message."""
    config = UtteranceConfig(seed=seed, params=PARAMS, lead_limit_s=math.inf)
    speech = await synthesizer.open(config)
    try:
        for start in range(0, len(STORY), 7):
            speech.push_text(STORY[start : start + 7])
        speech.finish()
        async with asyncio.timeout(60.0):
            return [event async for event in speech.events()]
    finally:
        speech.close()


@pytest.fixture(scope="module")
def told(checkpoint: FishCheckpoint) -> list[ToldSegment]:
    """The story as torch tells it."""
    builder = PromptBuilder(load_tokenizer(TOKENIZER_FILE), 8)
    params = PARAMS["temperature"], PARAMS["top_p"], PARAMS["repetition_penalty"]
    teller = TorchTeller(checkpoint.talker, builder, params, LONGEST_FRAMES)
    return teller.tell(split_text(STORY, LIMIT_BYTES), recorded_reference(), SEED)


async def test_nothing_drifts_over_a_long_text(
    house: tuple[Synthesizer, ListeningTalker], told: list[ToldSegment], checkpoint: FishCheckpoint
) -> None:
    """Prompt rows and codes of every segment equal torch's own telling of the story, in which the context slid."""
    synthesizer, talker = house
    await _tell(synthesizer)
    assert len(told) >= 10
    assert len(told) == len(talker.prompts)
    for index, (expected, prompt, frames) in enumerate(zip(told, talker.prompts, talker.frames, strict=True)):
        np.testing.assert_array_equal(np.concatenate(prompt), expected.prompt, f"prompt {index}")
        np.testing.assert_array_equal(np.stack(frames), expected.frames, f"frames {index}")
    slid = [2 * index - segment.kept_turns for index, segment in enumerate(told)]
    assert len(set(slid)) >= 3  # it held everything, and then slid on at least twice
    assert max(len(segment.prompt) for segment in told) + LONGEST_FRAMES <= checkpoint.talker.config.max_positions


async def test_every_segment_is_reported(
    house: tuple[Synthesizer, ListeningTalker], told: list[ToldSegment], checkpoint: FishCheckpoint
) -> None:
    """Reports come in order with the texts of the original's split; joined they are the story, sound included."""
    events = await _tell(house[0])
    reports = [event for event in events if isinstance(event, SegmentFinished)]
    assert [report.segment_index for report in reports] == list(range(len(told)))
    assert "".join(report.text for report in reports) == STORY
    assert [segment_text(report.text) for report in reports] == split_text(STORY, LIMIT_BYTES)
    codec, start_s = checkpoint.codec.config, 0.0
    for report, segment in zip(reports, told, strict=True):
        assert report.start_s == pytest.approx(start_s)
        assert report.duration_s == pytest.approx(len(segment.frames) * codec.samples_per_frame / codec.sample_rate_hz)
        start_s += report.duration_s


async def test_stories_told_at_once_do_not_mix(
    house: tuple[Synthesizer, ListeningTalker], told: list[ToldSegment]
) -> None:
    """Beside another that tells the same story with another seed, it is told as alone."""
    synthesizer, talker = house
    await asyncio.gather(*(_tell(synthesizer, seed) for seed in (SEED, 12)))
    takes = zip(talker.prompts, talker.frames, strict=True)
    heard = [_key(np.concatenate(prompt), np.stack(frames)) for prompt, frames in takes]
    assert {_key(segment.prompt, segment.frames) for segment in told} <= set(heard)
    assert len(set(heard)) == 2 * len(told)


def _key(prompt: Rows, frames: NDArray[np.generic]) -> tuple[bytes, bytes]:
    return prompt.tobytes(), frames.tobytes()
