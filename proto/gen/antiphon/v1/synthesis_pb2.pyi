import datetime

from antiphon.v1 import audio_pb2 as _audio_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SegmentFinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEGMENT_FINISH_REASON_UNSPECIFIED: _ClassVar[SegmentFinishReason]
    SEGMENT_FINISH_REASON_COMPLETED: _ClassVar[SegmentFinishReason]
    SEGMENT_FINISH_REASON_LENGTH_LIMIT: _ClassVar[SegmentFinishReason]
    SEGMENT_FINISH_REASON_NOTHING_TO_SPEAK: _ClassVar[SegmentFinishReason]

class UtteranceFinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UTTERANCE_FINISH_REASON_UNSPECIFIED: _ClassVar[UtteranceFinishReason]
    UTTERANCE_FINISH_REASON_HALF_CLOSED: _ClassVar[UtteranceFinishReason]
    UTTERANCE_FINISH_REASON_FLUSHED: _ClassVar[UtteranceFinishReason]
    UTTERANCE_FINISH_REASON_RECONFIGURED: _ClassVar[UtteranceFinishReason]
SEGMENT_FINISH_REASON_UNSPECIFIED: SegmentFinishReason
SEGMENT_FINISH_REASON_COMPLETED: SegmentFinishReason
SEGMENT_FINISH_REASON_LENGTH_LIMIT: SegmentFinishReason
SEGMENT_FINISH_REASON_NOTHING_TO_SPEAK: SegmentFinishReason
UTTERANCE_FINISH_REASON_UNSPECIFIED: UtteranceFinishReason
UTTERANCE_FINISH_REASON_HALF_CLOSED: UtteranceFinishReason
UTTERANCE_FINISH_REASON_FLUSHED: UtteranceFinishReason
UTTERANCE_FINISH_REASON_RECONFIGURED: UtteranceFinishReason

class SynthesisConfig(_message.Message):
    __slots__ = ("voice", "audio_format", "sampling", "seed", "speaking_rate", "language", "word_timings", "max_lead", "max_queue_wait", "chunking", "idle_timeout", "heartbeat_interval")
    VOICE_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FORMAT_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SPEAKING_RATE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    WORD_TIMINGS_FIELD_NUMBER: _ClassVar[int]
    MAX_LEAD_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUE_WAIT_FIELD_NUMBER: _ClassVar[int]
    CHUNKING_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    voice: str
    audio_format: _audio_pb2.AudioFormat
    sampling: SamplingConfig
    seed: int
    speaking_rate: float
    language: str
    word_timings: bool
    max_lead: _duration_pb2.Duration
    max_queue_wait: _duration_pb2.Duration
    chunking: ChunkConfig
    idle_timeout: _duration_pb2.Duration
    heartbeat_interval: _duration_pb2.Duration
    def __init__(self, voice: _Optional[str] = ..., audio_format: _Optional[_Union[_audio_pb2.AudioFormat, _Mapping]] = ..., sampling: _Optional[_Union[SamplingConfig, _Mapping]] = ..., seed: _Optional[int] = ..., speaking_rate: _Optional[float] = ..., language: _Optional[str] = ..., word_timings: _Optional[bool] = ..., max_lead: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_queue_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., chunking: _Optional[_Union[ChunkConfig, _Mapping]] = ..., idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., heartbeat_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class SamplingConfig(_message.Message):
    __slots__ = ("temperature", "top_p", "top_k", "repetition_penalty", "family_parameters")
    class FamilyParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    REPETITION_PENALTY_FIELD_NUMBER: _ClassVar[int]
    FAMILY_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    family_parameters: _containers.ScalarMap[str, float]
    def __init__(self, temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., repetition_penalty: _Optional[float] = ..., family_parameters: _Optional[_Mapping[str, float]] = ...) -> None: ...

class ChunkConfig(_message.Message):
    __slots__ = ("first_chunk_duration", "max_chunk_duration")
    FIRST_CHUNK_DURATION_FIELD_NUMBER: _ClassVar[int]
    MAX_CHUNK_DURATION_FIELD_NUMBER: _ClassVar[int]
    first_chunk_duration: _duration_pb2.Duration
    max_chunk_duration: _duration_pb2.Duration
    def __init__(self, first_chunk_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_chunk_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Flush(_message.Message):
    __slots__ = ("end_utterance",)
    END_UTTERANCE_FIELD_NUMBER: _ClassVar[int]
    end_utterance: bool
    def __init__(self, end_utterance: _Optional[bool] = ...) -> None: ...

class Cancel(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Started(_message.Message):
    __slots__ = ("audio_format", "config")
    AUDIO_FORMAT_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    audio_format: _audio_pb2.AudioFormat
    config: SynthesisConfig
    def __init__(self, audio_format: _Optional[_Union[_audio_pb2.AudioFormat, _Mapping]] = ..., config: _Optional[_Union[SynthesisConfig, _Mapping]] = ...) -> None: ...

class AudioChunk(_message.Message):
    __slots__ = ("content", "start_offset", "duration", "segment_index", "words")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_INDEX_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    start_offset: _duration_pb2.Duration
    duration: _duration_pb2.Duration
    segment_index: int
    words: _containers.RepeatedCompositeFieldContainer[WordTiming]
    def __init__(self, content: _Optional[bytes] = ..., start_offset: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., segment_index: _Optional[int] = ..., words: _Optional[_Iterable[_Union[WordTiming, _Mapping]]] = ...) -> None: ...

class WordTiming(_message.Message):
    __slots__ = ("text", "start_offset", "segment_index", "character_offset", "character_count")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_INDEX_FIELD_NUMBER: _ClassVar[int]
    CHARACTER_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CHARACTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    text: str
    start_offset: _duration_pb2.Duration
    segment_index: int
    character_offset: int
    character_count: int
    def __init__(self, text: _Optional[str] = ..., start_offset: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., segment_index: _Optional[int] = ..., character_offset: _Optional[int] = ..., character_count: _Optional[int] = ...) -> None: ...

class SegmentFinished(_message.Message):
    __slots__ = ("segment_index", "text", "start_offset", "duration", "finish_reason", "unspoken")
    SEGMENT_INDEX_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    UNSPOKEN_FIELD_NUMBER: _ClassVar[int]
    segment_index: int
    text: str
    start_offset: _duration_pb2.Duration
    duration: _duration_pb2.Duration
    finish_reason: SegmentFinishReason
    unspoken: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, segment_index: _Optional[int] = ..., text: _Optional[str] = ..., start_offset: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., finish_reason: _Optional[_Union[SegmentFinishReason, str]] = ..., unspoken: _Optional[_Iterable[str]] = ...) -> None: ...

class Cancelled(_message.Message):
    __slots__ = ("sent_duration", "played_duration", "last_word_sent", "last_word_played")
    SENT_DURATION_FIELD_NUMBER: _ClassVar[int]
    PLAYED_DURATION_FIELD_NUMBER: _ClassVar[int]
    LAST_WORD_SENT_FIELD_NUMBER: _ClassVar[int]
    LAST_WORD_PLAYED_FIELD_NUMBER: _ClassVar[int]
    sent_duration: _duration_pb2.Duration
    played_duration: _duration_pb2.Duration
    last_word_sent: WordTiming
    last_word_played: WordTiming
    def __init__(self, sent_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., played_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., last_word_sent: _Optional[_Union[WordTiming, _Mapping]] = ..., last_word_played: _Optional[_Union[WordTiming, _Mapping]] = ...) -> None: ...

class Finished(_message.Message):
    __slots__ = ("finish_reason", "audio_duration", "segment_count", "character_count", "time_to_first_audio")
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    AUDIO_DURATION_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    CHARACTER_COUNT_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_FIRST_AUDIO_FIELD_NUMBER: _ClassVar[int]
    finish_reason: UtteranceFinishReason
    audio_duration: _duration_pb2.Duration
    segment_count: int
    character_count: int
    time_to_first_audio: _duration_pb2.Duration
    def __init__(self, finish_reason: _Optional[_Union[UtteranceFinishReason, str]] = ..., audio_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., segment_count: _Optional[int] = ..., character_count: _Optional[int] = ..., time_to_first_audio: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Heartbeat(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
