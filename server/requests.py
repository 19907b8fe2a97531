"""From messages of the contract to what the server works with. Refuses what only the contract knows to be wrong.

Names and numbers that the engine knows (voices, rates, sampling parameters) are checked by the synthesizer.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from google.protobuf import duration_pb2

from antiphon.v1 import audio_pb2, synthesis_pb2
from server.errors import FeatureUnavailableError, InvalidConfigError, OutOfRangeError
from server.utterance import AudioEncoding, AudioFormat, UtteranceConfig

_ENCODINGS: Mapping[int, AudioEncoding] = {
    audio_pb2.AUDIO_ENCODING_UNSPECIFIED: AudioEncoding.PCM_S16LE,
    audio_pb2.AUDIO_ENCODING_PCM_S16LE: AudioEncoding.PCM_S16LE,
    audio_pb2.AUDIO_ENCODING_FLOAT32: AudioEncoding.PCM_F32LE,
    audio_pb2.AUDIO_ENCODING_MULAW: AudioEncoding.MULAW,
    audio_pb2.AUDIO_ENCODING_ALAW: AudioEncoding.ALAW,
}
_SAMPLING_FIELDS: tuple[Literal["temperature", "top_p", "top_k", "repetition_penalty"], ...] = (
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
)
_LEAD_RANGE_S = (0.1, 3600.0)
_QUEUE_WAIT_RANGE_S = (0.0, 3600.0)
_CHUNK_RANGE_S = (0.02, 2.0)
_SILENCE_RANGE_S = (1.0, 3600.0)
_RATE_RANGE = (0.25, 4.0)
_DEFAULT_IDLE_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """What a config asks for: of the utterances after it, and of the stream around them."""

    utterance: UtteranceConfig
    language: str
    """BCP 47 tag; empty is the main language of the voice."""
    word_timings: bool
    idle_timeout_s: float
    heartbeat_interval_s: float
    """Infinity sends no heartbeats."""


def audio_format(message: audio_pb2.AudioFormat) -> AudioFormat:
    """Reads the format of audio bytes.

    Raises:
        InvalidConfigError: The encoding is none that the contract knows.
    """
    return AudioFormat(_encoding(message.encoding), message.sample_rate_hz)


def stream_config(config: synthesis_pb2.SynthesisConfig, deadline_s: float = math.inf) -> StreamConfig:
    """Reads a config.

    Args:
        config: The message of the contract.
        deadline_s: Deadline of the call, on the monotonic clock.

    Raises:
        InvalidConfigError: A field holds what the contract does not know.
        OutOfRangeError: A number lies outside its limits.
        FeatureUnavailableError: The config asks for something that is not built.
    """
    _check_speaking_rate(config)
    first_chunk_s = _seconds(config.chunking, "first_chunk_duration", _CHUNK_RANGE_S, "config.chunking.")
    largest_chunk_s = _seconds(config.chunking, "max_chunk_duration", _CHUNK_RANGE_S, "config.chunking.")
    if first_chunk_s is not None and largest_chunk_s is not None and largest_chunk_s < first_chunk_s:
        raise OutOfRangeError(
            f"config.chunking.max_chunk_duration is {largest_chunk_s:g} s, less than first_chunk_duration, "
            f"{first_chunk_s:g} s; make it at least as long.",
            "config.chunking.max_chunk_duration",
        )
    utterance = UtteranceConfig(
        voice_name=config.voice,
        audio=audio_format(config.audio_format),
        seed=_seed(config),
        params=_sampling(config.sampling),
        lead_limit_s=_seconds(config, "max_lead", _LEAD_RANGE_S),
        queue_timeout_s=_seconds(config, "max_queue_wait", _QUEUE_WAIT_RANGE_S) or 0.0,
        deadline_s=deadline_s,
        first_chunk_s=first_chunk_s,
        largest_chunk_s=largest_chunk_s,
    )
    return StreamConfig(
        utterance=utterance,
        language=config.language,
        word_timings=config.word_timings,
        idle_timeout_s=_seconds(config, "idle_timeout", _SILENCE_RANGE_S) or _DEFAULT_IDLE_TIMEOUT_S,
        heartbeat_interval_s=_seconds(config, "heartbeat_interval", _SILENCE_RANGE_S) or math.inf,
    )


def _encoding(value: int) -> AudioEncoding:
    if value not in _ENCODINGS:
        names = ", ".join(f"{known} ({audio_pb2.AudioEncoding.Name(known)})" for known in _ENCODINGS)
        raise InvalidConfigError(
            f"config.audio_format.encoding is {value}, which this server does not know; use one of {names}.",
            "config.audio_format.encoding",
        )
    return _ENCODINGS[value]


def _sampling(sampling: synthesis_pb2.SamplingConfig) -> dict[str, float]:
    given: dict[str, float] = dict(sampling.family_parameters)
    given.update({name: getattr(sampling, name) for name in _SAMPLING_FIELDS if sampling.HasField(name)})
    # A float of the contract has 7 digits: those the caller wrote, not those of the nearest double.
    return {name: float(f"{value:.7g}") for name, value in given.items()}


def _seed(config: synthesis_pb2.SynthesisConfig) -> int | None:
    if not config.HasField("seed"):
        return None
    if config.seed < 0:
        raise OutOfRangeError(f"config.seed is {config.seed}; it must not be negative.", "config.seed")
    return config.seed


def _check_speaking_rate(config: synthesis_pb2.SynthesisConfig) -> None:
    rate = config.speaking_rate if config.HasField("speaking_rate") else 1.0
    low, high = _RATE_RANGE
    if not low <= rate <= high:
        raise OutOfRangeError(
            f"config.speaking_rate is {rate:g}; it must lie between {low:g} and {high:g}.", "config.speaking_rate"
        )
    if rate != 1.0:
        raise FeatureUnavailableError(
            f"config.speaking_rate is {rate:g}, but no voice here can change its speed; leave it out or set 1."
        )


def _seconds(
    owner: synthesis_pb2.SynthesisConfig | synthesis_pb2.ChunkConfig,
    name: str,
    limits_s: tuple[float, float],
    path: str = "config.",
) -> float | None:
    """A duration in seconds; None if it is not set."""
    if not owner.HasField(name):
        return None
    duration: duration_pb2.Duration = getattr(owner, name)
    seconds = duration.seconds + duration.nanos * 1e-9
    low, high = limits_s
    if not low <= seconds <= high:
        raise OutOfRangeError(
            f"{path}{name} is {seconds:g} s; it must lie between {low:g} s and {high:g} s.", f"{path}{name}"
        )
    return seconds
