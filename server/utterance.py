"""The nouns of the server: what a caller asks for, what the scheduler handles, what the caller hears. No behavior.

An **utterance** is what one config, the texts after it and the end of input add up to: one continuous speech. It is cut
into **segments**, the pieces that fit the talker. Events are what leaves an utterance, in order: one `Started`, then
`AudioChunk`s and `SegmentFinished`s, at the end one `Finished` or one `Cancelled`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NewType, TypeAlias

UtteranceId = NewType("UtteranceId", int)
SegmentId = NewType("SegmentId", int)


class AudioEncoding(Enum):
    """How samples are written into the bytes of a chunk; always without a header."""

    PCM_S16LE = "pcm_s16le"
    PCM_F32LE = "pcm_f32le"
    MULAW = "mulaw"
    ALAW = "alaw"


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """What the caller's player expects: one channel of `sample_rate_hz` samples per second in `encoding`."""

    encoding: AudioEncoding = AudioEncoding.PCM_S16LE
    sample_rate_hz: int = 0
    """0 asks for the native rate of the voice's bundle."""


@dataclass(frozen=True, slots=True)
class UtteranceConfig:
    """What a caller asks for; every field but the voice has a default."""

    voice_name: str = ""
    """Empty asks for the default voice."""
    audio: AudioFormat = field(default_factory=AudioFormat)
    seed: int | None = None
    """The same seed, voice, text and parameters give the same samples; None lets the server draw one."""
    params: Mapping[str, float] = field(default_factory=dict)
    """Sampling parameters by their names in the manifest; those that are missing take the manifest's defaults."""
    lead_limit_s: float | None = None
    """Seconds of audio sent ahead of playback; None takes the server's setting, infinity sends whatever is made."""
    queue_timeout_s: float = 0.0
    """Seconds the caller is ready to wait for a place when the server is full; 0 is refused at once."""
    deadline_s: float = math.inf
    """Moment on the server's monotonic clock at which the utterance must have ended."""
    lead_s: float = 0.0
    """Audio of the utterance before, on the same stream, that the listener has not yet played."""
    first_chunk_s: float | None = None
    """Length of the first chunk; None takes the voice's own."""
    largest_chunk_s: float | None = None
    """No chunk is longer; None takes the voice's own."""


class FinishReason(Enum):
    """Why a segment or an utterance came to its end."""

    COMPLETED = "completed"
    """Everything was spoken; the stop rule of the talker fired."""
    LENGTH = "length"
    """The run-away guard ended it: the talker made as many frames as its text could ever need."""
    EMPTY = "empty"
    """There was nothing to speak: only spaces, punctuation or characters the front end cannot speak."""


@dataclass(frozen=True, slots=True)
class WordTiming:
    """When a word begins to sound."""

    text: str
    start_s: float
    """From the first sample of the utterance."""
    char_start: int
    """Where the word stands in the text of its segment."""
    char_end: int
    segment_index: int


@dataclass(frozen=True, slots=True)
class Started:
    """The utterance was admitted; what the server will do, with every default filled in."""

    voice_name: str
    audio: AudioFormat
    seed: int
    params: Mapping[str, float]
    lead_limit_s: float


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """The next piece of sound."""

    audio: bytes
    offset_s: float
    """From the first sample of the utterance to the first sample of this chunk."""
    duration_s: float
    segment_index: int
    words: tuple[WordTiming, ...] = ()
    """The words that begin within this chunk."""
    audible_s: float | None = None
    """Offset of the first audible sample of the utterance, in the one chunk that holds it."""


@dataclass(frozen=True, slots=True)
class SegmentFinished:
    """All audio of a segment was sent."""

    segment_index: int
    text: str
    start_s: float
    """From the first sample of the utterance to the first sample of the segment."""
    duration_s: float
    reason: FinishReason
    unspoken: tuple[str, ...] = ()
    """Pieces of the text that the front end could not speak."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The utterance was cut off by its caller; no audio follows."""

    sent_s: float
    """Audio handed to the transport."""
    played_s: float
    """Audio a listener who plays at once has heard by now, at most `sent_s`."""
    last_word_sent: WordTiming | None
    last_word_played: WordTiming | None


@dataclass(frozen=True, slots=True)
class Finished:
    """The utterance came to its end; nothing follows."""

    reason: FinishReason
    duration_s: float
    segment_count: int
    character_count: int
    """Characters of text received."""
    ttfa_s: float | None
    """From the first text to the first chunk; None when there was no audio."""


Event: TypeAlias = Started | AudioChunk | SegmentFinished | Cancelled | Finished


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of an utterance as the scheduler sees it; its rows stay with the model runner."""

    id: SegmentId
    utterance_id: UtteranceId
    index: int
    row_count: int
    """Prompt rows, the first step's input included; 0 when there is nothing to speak."""
    max_frames: int
    """Run-away guard: the most frames this text could need."""
