"""A voice of the server, as a plain value."""

from collections.abc import Mapping
from dataclasses import dataclass

from antiphon.v1 import voice_pb2


@dataclass(frozen=True, slots=True)
class ParameterRange:
    """Limits of a sampling parameter."""

    default: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Voice:
    """A named way of speaking."""

    name: str
    description: str
    languages: tuple[str, ...]
    sample_rate_hz: int
    license: str
    word_timings: bool
    """Whether it can report when each word begins."""
    speaking_rate: bool
    """Whether its speed can be changed."""
    is_default: bool
    is_custom: bool
    """Whether it was made with `create_voice`; only such voices can be deleted."""
    sampling: Mapping[str, ParameterRange]
    """The sampling parameters it takes."""


def voice_from_proto(voice: voice_pb2.Voice) -> Voice:
    """The voice in a message of the contract."""
    return Voice(
        name=voice.name,
        description=voice.description,
        languages=tuple(voice.languages),
        sample_rate_hz=voice.sample_rate_hz,
        license=voice.license,
        word_timings=voice.word_timings,
        speaking_rate=voice.speaking_rate,
        is_default=voice.default,
        is_custom=voice.custom,
        sampling={
            parameter.name: ParameterRange(parameter.default_value, parameter.min_value, parameter.max_value)
            for parameter in voice.sampling_parameters
        },
    )
