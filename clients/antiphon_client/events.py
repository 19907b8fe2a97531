"""What comes back from the server, as plain values: times in seconds, audio as bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from google.protobuf import duration_pb2

from antiphon.v1 import synthesis_pb2, text_to_speech_service_pb2
from antiphon_client.options import Encoding


@dataclass(frozen=True, slots=True)
class Started:
    """An utterance was accepted."""

    utterance_index: int
    voice: str
    encoding: Encoding
    sample_rate_hz: int
    seed: int
    """Give it back in `SpeechOptions.seed` to hear the same again."""
    max_lead_s: float


@dataclass(frozen=True, slots=True)
class Word:
    """When a word begins to be heard."""

    text: str
    start_s: float
    """From the start of the utterance's audio."""
    segment_index: int
    character_offset: int
    """Where the word begins in the text of its segment."""
    character_count: int


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A piece of speech."""

    audio: bytes
    start_s: float
    """From the start of the utterance's audio."""
    duration_s: float
    utterance_index: int
    segment_index: int
    words: tuple[Word, ...] = ()
    """Words that begin in this chunk, if `SpeechOptions.word_timings` is set."""


class SegmentEnd(Enum):
    """Why a segment ended."""

    COMPLETED = synthesis_pb2.SEGMENT_FINISH_REASON_COMPLETED
    LENGTH_LIMIT = synthesis_pb2.SEGMENT_FINISH_REASON_LENGTH_LIMIT
    NOTHING_TO_SPEAK = synthesis_pb2.SEGMENT_FINISH_REASON_NOTHING_TO_SPEAK
    OTHER = synthesis_pb2.SEGMENT_FINISH_REASON_UNSPECIFIED
    """A reason that this version of the client does not know."""

    @classmethod
    def _missing_(cls, value: object) -> "SegmentEnd":
        return cls.OTHER


@dataclass(frozen=True, slots=True)
class SegmentFinished:
    """A segment was sent to its end."""

    utterance_index: int
    segment_index: int
    text: str
    start_s: float
    duration_s: float
    reason: SegmentEnd
    unspoken: tuple[str, ...] = ()
    """Pieces of the text that the voice cannot speak."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A cancel took effect."""

    utterance_index: int
    sent_s: float
    played_s: float
    """Audio that a listener who plays without delay had heard."""
    last_word_sent: Word | None
    last_word_played: Word | None


@dataclass(frozen=True, slots=True)
class Finished:
    """An utterance was sent to its end."""

    utterance_index: int
    duration_s: float
    segment_count: int
    character_count: int
    server_ttfa_s: float | None
    """Time to first audio as the server saw it; None if there was no audio."""


Event: TypeAlias = Started | AudioChunk | SegmentFinished | Cancelled | Finished


def event_from_proto(response: text_to_speech_service_pb2.SynthesizeResponse) -> Event | None:
    """The event in a response; None for a heartbeat and for what this version does not know."""
    index = response.utterance_index
    match response.WhichOneof("message"):
        case "started":
            return _started(index, response.started)
        case "audio":
            return _audio(index, response.audio)
        case "segment_finished":
            return _segment_finished(index, response.segment_finished)
        case "cancelled":
            return _cancelled(index, response.cancelled)
        case "finished":
            return _finished(index, response.finished)
        case _:
            return None


def _started(index: int, started: synthesis_pb2.Started) -> Started:
    return Started(
        utterance_index=index,
        voice=started.config.voice,
        encoding=Encoding(started.audio_format.encoding),
        sample_rate_hz=started.audio_format.sample_rate_hz,
        seed=started.config.seed,
        max_lead_s=_seconds(started.config.max_lead),
    )


def _audio(index: int, audio: synthesis_pb2.AudioChunk) -> AudioChunk:
    return AudioChunk(
        audio=audio.content,
        start_s=_seconds(audio.start_offset),
        duration_s=_seconds(audio.duration),
        utterance_index=index,
        segment_index=audio.segment_index,
        words=_words(audio.words),
    )


def _segment_finished(index: int, segment: synthesis_pb2.SegmentFinished) -> SegmentFinished:
    return SegmentFinished(
        utterance_index=index,
        segment_index=segment.segment_index,
        text=segment.text,
        start_s=_seconds(segment.start_offset),
        duration_s=_seconds(segment.duration),
        reason=SegmentEnd(segment.finish_reason),
        unspoken=tuple(segment.unspoken),
    )


def _cancelled(index: int, cancelled: synthesis_pb2.Cancelled) -> Cancelled:
    return Cancelled(
        utterance_index=index,
        sent_s=_seconds(cancelled.sent_duration),
        played_s=_seconds(cancelled.played_duration),
        last_word_sent=_word(cancelled.last_word_sent) if cancelled.HasField("last_word_sent") else None,
        last_word_played=_word(cancelled.last_word_played) if cancelled.HasField("last_word_played") else None,
    )


def _finished(index: int, finished: synthesis_pb2.Finished) -> Finished:
    return Finished(
        utterance_index=index,
        duration_s=_seconds(finished.audio_duration),
        segment_count=finished.segment_count,
        character_count=finished.character_count,
        server_ttfa_s=_seconds(finished.time_to_first_audio) if finished.HasField("time_to_first_audio") else None,
    )


def _words(words: Sequence[synthesis_pb2.WordTiming]) -> tuple[Word, ...]:
    return tuple(_word(word) for word in words)


def _word(word: synthesis_pb2.WordTiming) -> Word:
    return Word(word.text, _seconds(word.start_offset), word.segment_index, word.character_offset, word.character_count)


def _seconds(duration: duration_pb2.Duration) -> float:
    return duration.seconds + duration.nanos * 1e-9
