"""Responses of the contract as plain values."""

from antiphon.v1 import synthesis_pb2
from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon_client.events import (
    AudioChunk,
    Cancelled,
    Finished,
    SegmentEnd,
    SegmentFinished,
    Word,
    event_from_proto,
)
from server.responses import duration

Response = messages.SynthesizeResponse
WORD = synthesis_pb2.WordTiming(
    text="hello", start_offset=duration(0.25), segment_index=1, character_offset=3, character_count=5
)


def test_audio_brings_its_place_and_its_words() -> None:
    """Offsets become seconds, words become values."""
    chunk = synthesis_pb2.AudioChunk(
        content=b"ab", start_offset=duration(1.5), duration=duration(0.5), segment_index=1, words=[WORD]
    )

    expected = AudioChunk(b"ab", 1.5, 0.5, 2, 1, (Word("hello", 0.25, 1, 3, 5),))
    assert expected == event_from_proto(Response(utterance_index=2, audio=chunk))


def test_a_segment_says_why_it_ended() -> None:
    """Reasons become names, also one that this version does not know."""
    ended = synthesis_pb2.SegmentFinished(
        segment_index=1,
        text="hello",
        start_offset=duration(0.5),
        duration=duration(1),
        finish_reason=synthesis_pb2.SEGMENT_FINISH_REASON_LENGTH_LIMIT,
        unspoken=["?"],
    )
    event = event_from_proto(Response(segment_finished=ended))
    ended.finish_reason = 77  # type: ignore[assignment] # of a later version
    later = event_from_proto(Response(segment_finished=ended))

    assert SegmentFinished(0, 1, "hello", 0.5, 1.0, SegmentEnd.LENGTH_LIMIT, ("?",)) == event
    assert isinstance(later, SegmentFinished)
    assert SegmentEnd.OTHER is later.reason


def test_a_cancel_says_which_words_were_heard() -> None:
    """Words that are not there are None."""
    cancelled = synthesis_pb2.Cancelled(sent_duration=duration(2), played_duration=duration(1.25), last_word_sent=WORD)
    word = Word("hello", 0.25, 1, 3, 5)

    assert Cancelled(0, 2.0, 1.25, word, None) == event_from_proto(Response(cancelled=cancelled))


def test_an_utterance_without_audio_has_no_ttfa() -> None:
    """What the server does not set is None."""
    finished = synthesis_pb2.Finished(audio_duration=duration(0), segment_count=0, character_count=1)

    assert Finished(0, 0.0, 0, 1, None) == event_from_proto(Response(finished=finished))


def test_heartbeats_are_no_events() -> None:
    """A heartbeat and an unknown response are passed over."""
    assert event_from_proto(Response(heartbeat=synthesis_pb2.Heartbeat())) is None
    assert event_from_proto(Response()) is None
