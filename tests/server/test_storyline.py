"""Segments that go on from what was said before wait for it, in order; others never wait."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from server.model_runner import Script
from server.prepared_segment import Continuation, PreparedSegment, SpokenSegment
from server.progress import Ramp, SegmentProgress, UtteranceProgress
from server.storyline import Storylines
from server.utterance import Segment, SegmentId, UtteranceId

SPEAKER = UtteranceId(1)


class Stage:
    """Storylines with a scheduler that only notes what it is told, and frames that tell their segment."""

    def __init__(self) -> None:
        self.started: list[Script] = []
        self.ended: list[UtteranceId] = []
        self.progress = UtteranceProgress(SPEAKER, Ramp(1, 1, 1.0, 0.1, 0), 1.0)
        self.stories = Storylines(self.started.append, self.ended.append, lambda id_: np.full((2, 1), id_))
        self.stories.open(self.progress)

    def say(self, number: int, *, goes_on: bool = True, row_count: int = 1) -> None:
        """Say a segment whose rows hold its number."""
        own_rows = np.full((row_count, 1), number, np.int32)

        def join(spoken: Sequence[SpokenSegment]) -> tuple[NDArray[np.int32], int]:
            past = [part for each in spoken for part in (each.prepared.continuation.own_rows, each.frames)]  # type: ignore[union-attr]
            return np.concatenate([*past, own_rows]).astype(np.int32), 100 + number

        continuation = Continuation(own_rows, join) if goes_on else None
        prepared = PreparedSegment("", own_rows, (), (), number, continuation=continuation)
        segment = Segment(SegmentId(number), SPEAKER, number, row_count, number)
        self.stories.say(Script(segment, prepared, (), 0))

    def talk(self, number: int | None) -> None:
        """Let the scheduler be at a segment, or at none, after a step."""
        script = next((script for script in self.started if script.segment.id == number), None)
        self.progress.talking = SegmentProgress(script.segment) if script else None
        self.stories.take_in()

    @property
    def numbers(self) -> list[int]:
        """The segments that the scheduler has heard of."""
        return [int(script.segment.id) for script in self.started]


@pytest.fixture
def stage() -> Stage:
    """One utterance."""
    return Stage()


def test_a_segment_joins_what_was_said_before_it(stage: Stage) -> None:
    """It starts when the one before it has been made, with rows and a guard that know the past."""
    for number in (1, 2, 3):
        stage.say(number)
    stage.talk(1)
    assert stage.numbers == [1]
    stage.talk(None)
    assert stage.numbers == [1, 2]
    second = stage.started[1]
    assert second.prepared.row_ids[:, 0].tolist() == [1, 1, 1, 2]
    assert (second.segment.row_count, second.segment.max_frames, second.prepared.max_frames) == (4, 102, 102)
    stage.talk(2)
    stage.talk(None)
    assert stage.started[2].prepared.row_ids[:, 0].tolist() == [1, 1, 1, 2, 2, 2, 3]


def test_text_ends_behind_what_waits(stage: Stage) -> None:
    """The end of the text reaches the scheduler after the last segment does, once."""
    stage.say(1)
    stage.say(2)
    stage.stories.end_text(SPEAKER)
    stage.talk(1)
    assert stage.ended == []
    stage.talk(None)
    assert stage.ended == []
    stage.talk(2)
    stage.talk(None)
    assert (stage.numbers, stage.ended) == ([1, 2], [SPEAKER])


def test_segments_that_stand_alone_never_wait(stage: Stage) -> None:
    """The scheduler hears of them, and of the end of the text, at once."""
    for number in (1, 2, 3):
        stage.say(number, goes_on=False)
    stage.stories.end_text(SPEAKER)
    assert (stage.numbers, stage.ended) == ([1, 2, 3], [SPEAKER])


def test_what_cannot_be_spoken_keeps_its_place(stage: Stage) -> None:
    """A segment without rows waits for its turn, and holds up nobody behind it."""
    stage.say(1)
    stage.say(2, goes_on=False, row_count=0)
    stage.say(3)
    stage.talk(1)
    assert stage.numbers == [1]
    stage.talk(None)
    assert stage.numbers == [1, 2, 3]
    assert stage.started[2].prepared.row_ids[:, 0].tolist() == [1, 1, 1, 3]


def test_an_utterance_that_is_over_starts_nothing(stage: Stage) -> None:
    """What waited is forgotten; what still comes goes to the scheduler, which drops it."""
    stage.say(1)
    stage.say(2)
    stage.stories.forget(SPEAKER)
    stage.stories.forget(SPEAKER)
    stage.talk(None)
    stage.stories.end_text(SPEAKER)
    assert (stage.numbers, stage.ended) == ([1], [])
    stage.say(3)
    assert stage.numbers == [1, 3]
