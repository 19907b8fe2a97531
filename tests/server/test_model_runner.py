"""Steps become calls of the engine; frames and words are kept until their audio is made."""

import dataclasses

import numpy as np

from server.model_runner import ModelRunner, Script
from server.prepared_segment import ClosingPause, PreparedSegment, WordSpan
from server.step import DecodeWork, PrefillWork, Step, VocodeWork
from server.utterance import Segment, SegmentId, UtteranceId
from tests.fakes import FRAMES_PER_ROW, expected_frames, rows, scripted_engine

WORDS = (WordSpan("one", 0, 2, 0, 3), WordSpan("two", 3, 5, 4, 7))


def script(number: int = 0, row_count: int = 5, seed: int = 7) -> Script:
    """A segment of two words; the scripted talker spends two frames on each row."""
    prepared = PreparedSegment("one two", rows(row_count), WORDS, (), 300)
    segment = Segment(SegmentId(number), UtteranceId(0), 0, row_count, 300)
    return Script(segment, prepared, (1.0,), seed)


def runner_with(*scripts: Script) -> ModelRunner:
    """A runner on a scripted engine that knows these segments."""
    runner = ModelRunner(scripted_engine(4))
    for each in scripts:
        runner.add(each)
    return runner


def decode(index: int) -> Step:
    """One more frame of segment 0."""
    return Step(decode=(DecodeWork(SegmentId(0), 0, index),))


def prefill(row_count: int = 5) -> Step:
    """All rows of segment 0."""
    return Step(prefill=(PrefillWork(SegmentId(0), 0, 0, row_count, is_last=True),))


def vocode(start: int, count: int, audio_end: int) -> VocodeWork:
    """Frames of segment 0 on their way to the vocoder."""
    return VocodeWork(SegmentId(0), 0, start, count, audio_end, start == 0, is_last=False)


def test_frames_of_the_talker_reach_the_vocoder() -> None:
    """What was emitted is handed on, in order, with the segment's seed."""
    runner = runner_with(script())
    runner.run(prefill())
    results = [runner.run(decode(i)).decoded[0] for i in range(FRAMES_PER_ROW * 5 + 1)]
    item = runner.vocode_item(vocode(2, 4, 6))

    assert [True] * 10 + [False] == [result.emitted for result in results]
    assert [False] * 10 + [True] == [result.done for result in results]
    assert 7 == item.seed
    assert np.array_equal(expected_frames(rows(5), 7)[2:6], item.frames)


def test_an_empty_piece_of_work_has_the_shape_of_frames() -> None:
    """A segment may end when all its frames are with the vocoder already."""
    runner = runner_with(script())
    item = runner.vocode_item(VocodeWork(SegmentId(0), 0, 3, 0, 3, is_first=False, is_last=True))

    assert ((0, 2), np.dtype("int32")) == (item.frames.shape, item.frames.dtype)


def test_a_word_begins_with_the_frame_that_reaches_its_first_row() -> None:
    """The pointer tells which row is spoken; a word is told once, with the audio that holds its beginning."""
    runner = runner_with(script())
    runner.run(prefill())
    for i in range(9):
        runner.run(decode(i))
    told = [runner.words_within(vocode(start, 3, start + 3)) for start in (0, 3, 6)]

    assert [[("one", 0)], [], [("two", 6)]] == [
        [(word.span.text, word.frame_index) for word in words] for words in told
    ]


def test_a_word_whose_audio_is_not_out_waits() -> None:
    """The vocoder lags behind the talker; words keep to the audio, not to the frames."""
    runner = runner_with(script())
    runner.run(prefill())
    for i in range(9):
        runner.run(decode(i))

    assert ["one"] == [word.span.text for word in runner.words_within(vocode(0, 7, 6))]
    assert ["two"] == [word.span.text for word in runner.words_within(vocode(7, 1, 7))]


def test_a_failed_slot_is_reported_and_not_kept() -> None:
    """An error in place of a frame fails its segment; the others of the step have their frames."""
    engine = scripted_engine(4)
    runner = ModelRunner(engine)
    for number in range(2):
        runner.add(script(number))
        runner.run(Step(prefill=(PrefillWork(SegmentId(number), number, 0, 5, is_last=True),)))
    engine.talker.failing.add(0)  # type: ignore[attr-defined]
    result = runner.run(Step(decode=(DecodeWork(SegmentId(0), 0, 0), DecodeWork(SegmentId(1), 1, 0))))

    assert [(True, False), (False, True)] == [(each.failed, each.emitted) for each in result.decoded]


def test_released_slots_are_freed_before_they_are_prefilled_again() -> None:
    """A slot may change hands within one step; the strict engine would refuse the other order."""
    runner = runner_with(script(0), script(1))
    runner.run(prefill())
    runner.run(
        Step(
            released_slots=(0,),
            dropped=(SegmentId(0),),
            prefill=(PrefillWork(SegmentId(1), 0, 0, 5, is_last=True),),
            decode=(DecodeWork(SegmentId(1), 0, 0),),
        )
    )

    assert 1 == len(runner.vocode_item(VocodeWork(SegmentId(1), 0, 0, 1, 0, is_first=True, is_last=False)).frames)


def test_a_segment_ends_when_its_closing_pause_has_lasted_long_enough() -> None:
    """Frames behind the last word are counted; the last one allowed is still spoken."""
    pause = ClosingPause(first_row=3, max_frames=2, sound_frames=99)
    plain = script()
    runner = runner_with(dataclasses.replace(plain, prepared=dataclasses.replace(plain.prepared, closing_pause=pause)))
    runner.run(prefill())
    results = [runner.run(decode(i)).decoded[0] for i in range(FRAMES_PER_ROW * 3 + 2)]

    assert [False] * 7 + [True] == [result.done for result in results]
    assert all(result.emitted for result in results)


def test_a_talker_that_stays_on_the_last_phoneme_is_in_its_pause() -> None:
    """Once the last phoneme has had its time, frames count as pause although the pointer has not moved on."""
    pause = ClosingPause(first_row=3, max_frames=2, sound_frames=1)
    plain = script()
    prepared = dataclasses.replace(plain.prepared, closing_pause=pause)
    runner = runner_with(dataclasses.replace(plain, prepared=prepared))
    runner.run(prefill())
    results = [runner.run(decode(i)).decoded[0] for i in range(FRAMES_PER_ROW * 3 + 2)]
    first_of_last_phoneme = FRAMES_PER_ROW * 2

    assert [result.done for result in results].index(True) == first_of_last_phoneme + 2
