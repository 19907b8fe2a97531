"""What a caller may choose: how to connect, and how to speak. Every field has a default; None is the server's own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from google.protobuf import duration_pb2

from antiphon.v1 import audio_pb2, synthesis_pb2


class Encoding(Enum):
    """How samples are written as bytes."""

    PCM_S16LE = audio_pb2.AUDIO_ENCODING_PCM_S16LE
    FLOAT32 = audio_pb2.AUDIO_ENCODING_FLOAT32
    MULAW = audio_pb2.AUDIO_ENCODING_MULAW
    ALAW = audio_pb2.AUDIO_ENCODING_ALAW

    @property
    def sample_bytes(self) -> int:
        """Bytes of one sample."""
        return {Encoding.PCM_S16LE: 2, Encoding.FLOAT32: 4}.get(self, 1)


@dataclass(frozen=True, slots=True)
class SpeechOptions:
    """How to speak; see `SynthesisConfig` in the contract for ranges and defaults."""

    voice: str = ""
    """Name of the voice; empty is the server's default voice."""
    encoding: Encoding = Encoding.PCM_S16LE
    sample_rate_hz: int = 0
    """Samples per second; 0 is the voice's own rate."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    """The same text, voice, options and seed give the same samples."""
    speaking_rate: float | None = None
    language: str = ""
    word_timings: bool = False
    max_lead_s: float | None = None
    """Most audio the server sends ahead of playback."""
    max_queue_wait_s: float | None = None
    """Longest wait for room on a full server; None is refused at once."""
    first_chunk_s: float | None = None
    max_chunk_s: float | None = None
    idle_timeout_s: float | None = None
    heartbeat_interval_s: float | None = None

    def to_proto(self) -> synthesis_pb2.SynthesisConfig:
        """The message of the contract; what is None is not set."""
        sampling = synthesis_pb2.SamplingConfig(
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            repetition_penalty=self.repetition_penalty,
        )
        chunking = synthesis_pb2.ChunkConfig(
            first_chunk_duration=_duration(self.first_chunk_s), max_chunk_duration=_duration(self.max_chunk_s)
        )
        return synthesis_pb2.SynthesisConfig(
            voice=self.voice,
            audio_format=audio_pb2.AudioFormat(encoding=self.encoding.value, sample_rate_hz=self.sample_rate_hz),
            sampling=sampling,
            seed=self.seed,
            speaking_rate=self.speaking_rate,
            language=self.language,
            word_timings=self.word_timings,
            max_lead=_duration(self.max_lead_s),
            max_queue_wait=_duration(self.max_queue_wait_s),
            chunking=chunking,
            idle_timeout=_duration(self.idle_timeout_s),
            heartbeat_interval=_duration(self.heartbeat_interval_s),
        )


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how patiently to try again before the first audio; afterwards nothing is ever tried again."""

    attempt_count: int = 3
    """Calls in all; 1 never tries again."""
    first_wait_s: float = 0.2
    """Wait before the second call; it doubles with each further one. A server that says how long wins."""
    max_wait_s: float = 5.0
    """Longest wait between two calls. If the server asks for a longer one, its error is raised at once."""


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How to reach the server."""

    api_key: str = ""
    """Sent as `authorization: Bearer`; empty sends none."""
    tls: bool = False
    root_certificates: bytes | None = None
    """PEM of the authorities to trust; None trusts those of gRPC."""
    client_key: bytes | None = None
    """PEM of this client's private key, for servers that ask who is calling."""
    client_certificate: bytes | None = None
    keepalive_interval_s: float = 20.0
    """A ping after this silence finds dead connections; the server allows one every 5 s."""
    keepalive_timeout_s: float = 5.0
    retry: Retry = field(default_factory=Retry)

    def channel_arguments(self) -> Sequence[tuple[str, int]]:
        """Settings of the gRPC channel."""
        return (
            ("grpc.keepalive_time_ms", round(self.keepalive_interval_s * 1000)),
            ("grpc.keepalive_timeout_ms", round(self.keepalive_timeout_s * 1000)),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
            # Small windows: audio that was not read yet waits on the server, where a cancel can still drop it.
            ("grpc.http2.bdp_probe", 0),
            ("grpc.http2.lookahead_bytes", 16384),
        )


def _duration(seconds: float | None) -> duration_pb2.Duration | None:
    if seconds is None:
        return None
    duration = duration_pb2.Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration
