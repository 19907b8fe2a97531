"""Counts and moments of an utterance at work: what is due, what is ready, how far ahead it is."""

import dataclasses

import pytest

from server.progress import Ramp, SegmentProgress, UtteranceProgress
from server.utterance import FinishReason, Segment, SegmentId, UtteranceId

RAMP = Ramp(first_frames=2, largest_frames=8, growth=2.0, frame_s=0.05, lookahead_frames=3)


def speaking(frames: int, vocoded: int = 0, audio: int = 0, reason: FinishReason | None = None) -> UtteranceProgress:
    """An utterance whose only segment is so far."""
    segment = Segment(SegmentId(0), UtteranceId(0), 0, 10, 300)
    part = SegmentProgress(segment, 0, 10, frames, frames, vocoded, audio, reason=reason)
    utterance = UtteranceProgress(UtteranceId(0), RAMP, lead_limit_s=2.0, busy_since_s=100.0)
    utterance.active.append(part)
    utterance.talking = None if reason else part
    utterance.pending_frames = frames - audio
    return utterance


def test_the_first_chunk_waits_for_the_look_ahead() -> None:
    """Two frames of audio need five frames of a vocoder that looks three ahead."""
    assert [False, False, True] == [speaking(n).is_vocode_due(100.0, 0.0) for n in (3, 4, 5)]
    assert (5, 2, False) == speaking(5).next_vocode(100.0)


def test_the_end_brings_out_what_was_held_back() -> None:
    """The last chunk holds all frames of the segment, the look-ahead included."""
    ended = speaking(9, vocoded=6, audio=3, reason=FinishReason.COMPLETED)

    assert ended.is_vocode_due(100.0, 0.0)
    assert (3, 9, True) == ended.next_vocode(100.0)


def test_the_end_may_come_without_a_further_frame() -> None:
    """If the talker stops after its last frame has gone to the vocoder, an empty piece ends the segment."""
    assert (0, 6, True) == speaking(6, vocoded=6, audio=3, reason=FinishReason.COMPLETED).next_vocode(100.0)


def test_what_has_piled_up_goes_in_pieces() -> None:
    """A vocoder that fell behind is given chunks of the largest length, not everything at once."""
    assert (11, 8, False) == speaking(40).next_vocode(100.0)
    assert (8, 16, False) == speaking(40, vocoded=11, audio=8).next_vocode(100.0)


def test_a_listener_who_has_plenty_is_sent_longer_chunks() -> None:
    """With a second or more in hand the chunk is the patient one, and a held utterance does not send its remainder."""
    ramp = dataclasses.replace(RAMP, patient_frames=16)
    cases = (0.9, 27, False), (1.1, 27, False), (1.1, 38, False), (1.1, 27, True), (0.9, 22, True)
    due = []
    for lead_s, frames, is_held in cases:
        utterance = speaking(frames, vocoded=20, audio=17)
        utterance.ramp, utterance.is_held, utterance.chunk_index = ramp, is_held, 9
        utterance.clock.deliver(100.0, lead_s)
        due.append(utterance.is_vocode_due(100.0, 0.0))

        assert min(frames - 20, 16 if lead_s > 1.0 else 8) == utterance.next_vocode(100.0).frame_count

    assert [False, False, True, False, True] == due


def test_chunks_grow_while_the_listener_has_something_to_play() -> None:
    """The second chunk is twice the first; after silence the ramp starts anew."""
    utterance = speaking(7, vocoded=5, audio=2)
    utterance.deliver(100.0, 0.1, 0.15)
    playing = utterance.is_vocode_due(100.01, 0.0)
    silent = utterance.is_vocode_due(100.2, 0.0)

    assert (False, True) == (playing, silent)


def test_a_short_chunk_goes_before_the_listener_runs_out() -> None:
    """When the next chance would come too late, what is ready goes now."""
    utterance = speaking(6, vocoded=5, audio=2)
    utterance.deliver(100.0, 0.1, 0.15)

    assert [False, True] == [utterance.is_vocode_due(100.05, latency_s) for latency_s in (0.04, 0.06)]


def test_nothing_is_due_twice() -> None:
    """While the vocoder works on a segment it gets no more of it."""
    utterance = speaking(40)
    utterance.is_vocoding = True

    assert not utterance.is_vocode_due(100.0, 1.0)


def test_ahead_counts_frames_that_could_be_heard() -> None:
    """Lead and frames on their way count; frames that the vocoder must hold back do not."""
    utterance = speaking(9, vocoded=5, audio=2)
    utterance.clock.deliver(100.0, 0.1)

    assert pytest.approx(0.05 + 4 * 0.05) == utterance.ahead_s(100.05)
    assert pytest.approx(0.1 + 4 * 0.05) == utterance.unread_s


def test_new_text_is_due_after_the_target() -> None:
    """Before there is audio the deadline is when it may be expected; afterwards it is when the listener runs out."""
    utterance = speaking(5)
    before_s = utterance.due_s(0.15)
    utterance.deliver(100.12, 0.4, 0.15)

    assert (pytest.approx(100.15), pytest.approx(100.52)) == (before_s, utterance.due_s(0.15))


@pytest.mark.parametrize(("now_s", "spare_s"), [(100.3, 0.1), (100.5, -0.1)])
def test_chunks_tell_how_late_they_came(now_s: float, spare_s: float) -> None:
    """A chunk before the listener runs out has time to spare; one after it has not."""
    utterance = speaking(5)
    first = utterance.deliver(100.0, 0.4, 0.15)

    assert first is None
    assert pytest.approx(spare_s) == utterance.deliver(now_s, 0.1, 0.15)


def test_late_text_makes_no_chunk_late() -> None:
    """If the text came when the listener had long run out, the silence before it is not the server's."""
    utterance = speaking(5)
    utterance.deliver(100.0, 0.4, 0.15)
    utterance.busy_since_s = 107.0

    assert utterance.deliver(107.5, 0.1, 0.15) is None
