from antiphon.v1 import synthesis_pb2 as _synthesis_pb2
from antiphon.v1 import voice_pb2 as _voice_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SynthesizeRequest(_message.Message):
    __slots__ = ("config", "text", "flush", "cancel")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FLUSH_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    config: _synthesis_pb2.SynthesisConfig
    text: str
    flush: _synthesis_pb2.Flush
    cancel: _synthesis_pb2.Cancel
    def __init__(self, config: _Optional[_Union[_synthesis_pb2.SynthesisConfig, _Mapping]] = ..., text: _Optional[str] = ..., flush: _Optional[_Union[_synthesis_pb2.Flush, _Mapping]] = ..., cancel: _Optional[_Union[_synthesis_pb2.Cancel, _Mapping]] = ...) -> None: ...

class SynthesizeResponse(_message.Message):
    __slots__ = ("utterance_index", "started", "audio", "segment_finished", "cancelled", "finished", "heartbeat")
    UTTERANCE_INDEX_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FINISHED_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    utterance_index: int
    started: _synthesis_pb2.Started
    audio: _synthesis_pb2.AudioChunk
    segment_finished: _synthesis_pb2.SegmentFinished
    cancelled: _synthesis_pb2.Cancelled
    finished: _synthesis_pb2.Finished
    heartbeat: _synthesis_pb2.Heartbeat
    def __init__(self, utterance_index: _Optional[int] = ..., started: _Optional[_Union[_synthesis_pb2.Started, _Mapping]] = ..., audio: _Optional[_Union[_synthesis_pb2.AudioChunk, _Mapping]] = ..., segment_finished: _Optional[_Union[_synthesis_pb2.SegmentFinished, _Mapping]] = ..., cancelled: _Optional[_Union[_synthesis_pb2.Cancelled, _Mapping]] = ..., finished: _Optional[_Union[_synthesis_pb2.Finished, _Mapping]] = ..., heartbeat: _Optional[_Union[_synthesis_pb2.Heartbeat, _Mapping]] = ...) -> None: ...

class ListVoicesRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "language")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    language: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., language: _Optional[str] = ...) -> None: ...

class ListVoicesResponse(_message.Message):
    __slots__ = ("voices", "next_page_token")
    VOICES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    voices: _containers.RepeatedCompositeFieldContainer[_voice_pb2.Voice]
    next_page_token: str
    def __init__(self, voices: _Optional[_Iterable[_Union[_voice_pb2.Voice, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetVoiceRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetVoiceResponse(_message.Message):
    __slots__ = ("voice",)
    VOICE_FIELD_NUMBER: _ClassVar[int]
    voice: _voice_pb2.Voice
    def __init__(self, voice: _Optional[_Union[_voice_pb2.Voice, _Mapping]] = ...) -> None: ...

class CreateVoiceRequest(_message.Message):
    __slots__ = ("config", "audio")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    config: _voice_pb2.VoiceConfig
    audio: bytes
    def __init__(self, config: _Optional[_Union[_voice_pb2.VoiceConfig, _Mapping]] = ..., audio: _Optional[bytes] = ...) -> None: ...

class CreateVoiceResponse(_message.Message):
    __slots__ = ("voice",)
    VOICE_FIELD_NUMBER: _ClassVar[int]
    voice: _voice_pb2.Voice
    def __init__(self, voice: _Optional[_Union[_voice_pb2.Voice, _Mapping]] = ...) -> None: ...

class DeleteVoiceRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeleteVoiceResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
