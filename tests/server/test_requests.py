"""Configs of the contract, read and refused."""

import math

import pytest
from google.protobuf import duration_pb2

from antiphon.v1 import audio_pb2, synthesis_pb2
from server.errors import FeatureUnavailableError, InvalidConfigError, InvalidRequestError, OutOfRangeError
from server.requests import stream_config
from server.utterance import AudioEncoding, AudioFormat, UtteranceConfig

Config = synthesis_pb2.SynthesisConfig


def seconds(value: float) -> duration_pb2.Duration:
    """A duration of the contract."""
    duration = duration_pb2.Duration()
    duration.FromMilliseconds(round(value * 1000))
    return duration


def test_an_empty_config_is_all_defaults() -> None:
    """A config without fields asks for the default utterance and a stream of five idle minutes."""
    config = stream_config(Config())

    assert UtteranceConfig() == config.utterance
    assert (False, 300.0, math.inf) == (config.word_timings, config.idle_timeout_s, config.heartbeat_interval_s)


def test_every_field_arrives() -> None:
    """What a caller sets is what the synthesizer is asked for."""
    config = stream_config(
        Config(
            voice="default",
            audio_format=audio_pb2.AudioFormat(encoding=audio_pb2.AUDIO_ENCODING_MULAW, sample_rate_hz=8000),
            sampling=synthesis_pb2.SamplingConfig(temperature=0.7, top_k=20, family_parameters={"dwell": 1.1}),
            seed=7,
            max_lead=seconds(1.5),
            max_queue_wait=seconds(4),
            chunking=synthesis_pb2.ChunkConfig(first_chunk_duration=seconds(0.04), max_chunk_duration=seconds(0.4)),
            language="en-US",
            word_timings=True,
            idle_timeout=seconds(30),
            heartbeat_interval=seconds(10),
        ),
    )

    assert config.utterance == UtteranceConfig(
        voice_name="default",
        audio=AudioFormat(AudioEncoding.MULAW, 8000),
        seed=7,
        params={"temperature": 0.7, "top_k": 20.0, "dwell": 1.1},
        lead_limit_s=1.5,
        queue_timeout_s=4.0,
        first_chunk_s=0.04,
        largest_chunk_s=0.4,
    )
    assert ("en-US", True, 30.0, 10.0) == (
        config.language,
        config.word_timings,
        config.idle_timeout_s,
        config.heartbeat_interval_s,
    )


def test_numbers_keep_the_digits_that_were_written() -> None:
    """A 32-bit float of 0.3 is read as 0.3, so it equals the default of a manifest and stays inside its limits."""
    config = stream_config(Config(sampling=synthesis_pb2.SamplingConfig(temperature=0.3, repetition_penalty=1.2)))

    assert {"temperature": 0.3, "repetition_penalty": 1.2} == config.utterance.params


def test_the_deadline_of_the_call_is_that_of_the_utterance() -> None:
    """A moment on the monotonic clock; without one there is no end."""
    assert 123.5 == stream_config(Config(), 123.5).utterance.deadline_s
    assert math.inf == stream_config(Config()).utterance.deadline_s


WRONG_CONFIGS = {
    "unknown encoding": (
        Config(audio_format=audio_pb2.AudioFormat(encoding=99)),  # type: ignore[arg-type] # on purpose
        "config.audio_format.encoding",
    ),
    "negative seed": (Config(seed=-1), "config.seed"),
    "speed not a number": (Config(speaking_rate=math.nan), "config.speaking_rate"),
    "speed too high": (Config(speaking_rate=4.1), "config.speaking_rate"),
    "lead too small": (Config(max_lead=seconds(0.05)), "config.max_lead"),
    "lead too large": (Config(max_lead=seconds(3601)), "config.max_lead"),
    "negative wait": (Config(max_queue_wait=seconds(-1)), "config.max_queue_wait"),
    "idle timeout too short": (Config(idle_timeout=seconds(0.5)), "config.idle_timeout"),
    "heartbeats without a pause": (Config(heartbeat_interval=seconds(0)), "config.heartbeat_interval"),
    "first chunk too short": (
        Config(chunking=synthesis_pb2.ChunkConfig(first_chunk_duration=seconds(0.01))),
        "config.chunking.first_chunk_duration",
    ),
    "largest chunk less than the first": (
        Config(chunking=synthesis_pb2.ChunkConfig(first_chunk_duration=seconds(0.5), max_chunk_duration=seconds(0.1))),
        "config.chunking.max_chunk_duration",
    ),
}


@pytest.mark.parametrize(("config", "field"), WRONG_CONFIGS.values(), ids=WRONG_CONFIGS)
def test_a_wrong_field_is_refused_by_name(config: Config, field: str) -> None:
    """The error names the field, its value and its limits."""
    with pytest.raises(InvalidRequestError, match=field.replace(".", r"\.")) as refusal:
        stream_config(config)

    assert field == refusal.value.field
    assert isinstance(refusal.value, OutOfRangeError | InvalidConfigError)


def test_an_unknown_encoding_is_answered_with_the_known_ones() -> None:
    """The sentence lists what the caller may use instead."""
    with pytest.raises(InvalidConfigError, match=r"is 99, .*1 \(AUDIO_ENCODING_PCM_S16LE\)"):
        stream_config(Config(audio_format=audio_pb2.AudioFormat(encoding=99)))  # type: ignore[arg-type] # on purpose


def test_another_speed_is_not_built() -> None:
    """A speaking rate inside its limits but other than 1 is refused as unavailable, 1 is not."""
    stream_config(Config(speaking_rate=1.0))

    with pytest.raises(FeatureUnavailableError, match=r"config\.speaking_rate is 1\.5"):
        stream_config(Config(speaking_rate=1.5))
