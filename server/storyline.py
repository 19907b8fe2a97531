"""Segments that go on from what was said before: each waits until the one before it has been made, then joins it.

Some voices hold their manner by what they have said in the same utterance. The rows of such a segment are known only
when the frames before it are. Until then it is kept here, and with it everything that follows it. Lives on the model
thread; the scheduler never knows.
"""

import dataclasses
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from server.model_runner import Script
from server.prepared_segment import SpokenSegment
from server.progress import UtteranceProgress
from server.utterance import SegmentId, UtteranceId


@dataclass(slots=True)
class _Story:
    """One utterance.

    Attributes:
        progress: Where the scheduler notes which segment is talking.
        spoken: What was said, in order.
        talking: The script whose frames are being made.
        waiting: Scripts behind it.
        text_ended: Whether the text ends behind them.
    """

    progress: UtteranceProgress
    spoken: list[SpokenSegment] = field(default_factory=list)
    talking: Script | None = None
    waiting: deque[Script] = field(default_factory=deque)
    text_ended: bool = False

    @property
    def has_talked(self) -> bool:
        """Whether the frames of the segment that was talking are all made."""
        now = self.progress.talking
        return self.talking is not None and (now is None or now.segment.id != self.talking.segment.id)


class Storylines:
    """Decides when the scheduler hears of a segment.

    Args:
        start: Gives a script to runner and scheduler.
        end_text: Tells the scheduler that an utterance has no more text.
        frames_of: Returns the frames made of a segment.
    """

    def __init__(
        self,
        start: Callable[[Script], None],
        end_text: Callable[[UtteranceId], None],
        frames_of: Callable[[SegmentId], NDArray[np.generic]],
    ) -> None:
        self._start = start
        self._end_text = end_text
        self._frames_of = frames_of
        self._stories: dict[UtteranceId, _Story] = {}

    def open(self, progress: UtteranceProgress) -> None:
        """Begin an utterance."""
        self._stories[progress.id] = _Story(progress)

    def forget(self, utterance_id: UtteranceId) -> None:
        """End an utterance, whatever still waits."""
        self._stories.pop(utterance_id, None)

    def say(self, script: Script) -> None:
        """Start a segment, now or when what it goes on from has been made."""
        story = self._stories.get(script.segment.utterance_id)
        if story is None:  # cancelled: the scheduler drops it
            self._start(script)
            return
        story.waiting.append(script)
        self._go_on(story)

    def end_text(self, utterance_id: UtteranceId) -> None:
        """Tell that no more segments will come, behind those that wait."""
        if story := self._stories.get(utterance_id):
            story.text_ended = True
            self._go_on(story)

    def take_in(self) -> None:
        """Start what waited for frames that were made in the last step; call it after each."""
        for story in list(self._stories.values()):
            if story.talking is not None and story.has_talked:
                frames = self._frames_of(story.talking.segment.id)
                story.spoken.append(SpokenSegment(story.talking.prepared, frames))
                story.talking = None
                self._go_on(story)

    def _go_on(self, story: _Story) -> None:
        while story.talking is None and story.waiting:
            script = _continued(story.waiting.popleft(), story.spoken)
            if script.prepared.continuation is not None:
                story.talking = script
            self._start(script)
        if story.text_ended and story.talking is None:
            self._end_text(story.progress.id)


def _continued(script: Script, spoken: list[SpokenSegment]) -> Script:
    """Return a script whose rows go on from what was said before it."""
    continuation = script.prepared.continuation
    if continuation is None or not spoken:
        return script
    rows, max_frames = continuation.join(spoken)
    return dataclasses.replace(
        script,
        prepared=dataclasses.replace(script.prepared, row_ids=rows, max_frames=max_frames),
        segment=dataclasses.replace(script.segment, row_count=len(rows), max_frames=max_frames),
    )
