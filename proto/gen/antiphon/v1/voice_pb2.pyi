import datetime

from antiphon.v1 import audio_pb2 as _audio_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class VoiceGender(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VOICE_GENDER_UNSPECIFIED: _ClassVar[VoiceGender]
    VOICE_GENDER_FEMALE: _ClassVar[VoiceGender]
    VOICE_GENDER_MALE: _ClassVar[VoiceGender]
    VOICE_GENDER_NEUTRAL: _ClassVar[VoiceGender]
VOICE_GENDER_UNSPECIFIED: VoiceGender
VOICE_GENDER_FEMALE: VoiceGender
VOICE_GENDER_MALE: VoiceGender
VOICE_GENDER_NEUTRAL: VoiceGender

class Voice(_message.Message):
    __slots__ = ("name", "display_name", "description", "languages", "sample_rate_hz", "license", "word_timings", "speaking_rate", "default", "custom", "create_time", "sampling_parameters", "gender")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    LICENSE_FIELD_NUMBER: _ClassVar[int]
    WORD_TIMINGS_FIELD_NUMBER: _ClassVar[int]
    SPEAKING_RATE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    GENDER_FIELD_NUMBER: _ClassVar[int]
    name: str
    display_name: str
    description: str
    languages: _containers.RepeatedScalarFieldContainer[str]
    sample_rate_hz: int
    license: str
    word_timings: bool
    speaking_rate: bool
    default: bool
    custom: bool
    create_time: _timestamp_pb2.Timestamp
    sampling_parameters: _containers.RepeatedCompositeFieldContainer[SamplingParameter]
    gender: VoiceGender
    def __init__(self, name: _Optional[str] = ..., display_name: _Optional[str] = ..., description: _Optional[str] = ..., languages: _Optional[_Iterable[str]] = ..., sample_rate_hz: _Optional[int] = ..., license: _Optional[str] = ..., word_timings: _Optional[bool] = ..., speaking_rate: _Optional[bool] = ..., default: _Optional[bool] = ..., custom: _Optional[bool] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sampling_parameters: _Optional[_Iterable[_Union[SamplingParameter, _Mapping]]] = ..., gender: _Optional[_Union[VoiceGender, str]] = ...) -> None: ...

class SamplingParameter(_message.Message):
    __slots__ = ("name", "default_value", "min_value", "max_value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    MIN_VALUE_FIELD_NUMBER: _ClassVar[int]
    MAX_VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    default_value: float
    min_value: float
    max_value: float
    def __init__(self, name: _Optional[str] = ..., default_value: _Optional[float] = ..., min_value: _Optional[float] = ..., max_value: _Optional[float] = ...) -> None: ...

class VoiceConfig(_message.Message):
    __slots__ = ("name", "display_name", "description", "language", "audio_format", "transcript", "consent")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FORMAT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    CONSENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    display_name: str
    description: str
    language: str
    audio_format: _audio_pb2.AudioFormat
    transcript: str
    consent: Consent
    def __init__(self, name: _Optional[str] = ..., display_name: _Optional[str] = ..., description: _Optional[str] = ..., language: _Optional[str] = ..., audio_format: _Optional[_Union[_audio_pb2.AudioFormat, _Mapping]] = ..., transcript: _Optional[str] = ..., consent: _Optional[_Union[Consent, _Mapping]] = ...) -> None: ...

class Consent(_message.Message):
    __slots__ = ("speaker_name", "statement", "consent_time")
    SPEAKER_NAME_FIELD_NUMBER: _ClassVar[int]
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    CONSENT_TIME_FIELD_NUMBER: _ClassVar[int]
    speaker_name: str
    statement: str
    consent_time: _timestamp_pb2.Timestamp
    def __init__(self, speaker_name: _Optional[str] = ..., statement: _Optional[str] = ..., consent_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
