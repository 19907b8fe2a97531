"""What a caller chooses, as it goes over the wire."""

import dataclasses

from antiphon.v1 import audio_pb2, synthesis_pb2
from antiphon_client.options import ConnectionOptions, Encoding, SpeechOptions


def test_defaults_leave_everything_to_the_server() -> None:
    """Only the encoding, which has no unset value here, is sent."""
    expected = synthesis_pb2.SynthesisConfig(
        audio_format=audio_pb2.AudioFormat(encoding=audio_pb2.AUDIO_ENCODING_PCM_S16LE)
    )
    config = SpeechOptions().to_proto()
    config.ClearField("sampling")
    config.ClearField("chunking")

    assert expected == config


def test_every_option_is_sent() -> None:
    """A value that is not the default changes the message, for each field."""
    values = {
        "voice": "v", "encoding": Encoding.ALAW, "sample_rate_hz": 8000, "temperature": 0.5, "top_p": 0.5, "top_k": 5,
        "repetition_penalty": 1.5, "seed": 0, "speaking_rate": 1.0, "language": "en", "word_timings": True,
        "max_lead_s": 1.0, "max_queue_wait_s": 0.0, "first_chunk_s": 0.1, "max_chunk_s": 0.2, "idle_timeout_s": 9.0,
        "heartbeat_interval_s": 3.0,
    }  # fmt: skip
    assert set(values) == {field.name for field in dataclasses.fields(SpeechOptions)}

    for name, value in values.items():
        assert SpeechOptions().to_proto() != SpeechOptions(**{name: value}).to_proto(), name  # type: ignore[arg-type]


def test_encodings_know_their_width() -> None:
    """Bytes per sample, by which audio is measured."""
    assert [2, 4, 1, 1] == [encoding.sample_bytes for encoding in Encoding]


def test_pings_are_not_more_than_the_server_allows() -> None:
    """The default client pings an idle stream every 20 s, the server closes those that ping more than every 5 s."""
    arguments = dict(ConnectionOptions().channel_arguments())

    assert 20_000 == arguments["grpc.keepalive_time_ms"]
    assert 0 == arguments["grpc.http2.bdp_probe"]
