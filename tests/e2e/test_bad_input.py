"""The table of bad input: for each, the status, the details and the sentence; who speaks beside it notices nothing."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import grpc
import pytest
from google.protobuf import duration_pb2
from grpc import aio

from antiphon.v1 import audio_pb2, synthesis_pb2
from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import error_from_rpc
from antiphon_client.options import SpeechOptions
from server.app import App

Code = grpc.StatusCode
INVALID = Code.INVALID_ARGUMENT
Config = synthesis_pb2.SynthesisConfig
Sampling = synthesis_pb2.SamplingConfig
TEXT = b"\x12\x05hello"  # SynthesizeRequest(text="hello")


def config(**fields: object) -> bytes:
    """A request that holds a config, as bytes."""
    return messages.SynthesizeRequest(config=Config(**fields)).SerializeToString()  # type: ignore[arg-type]


def text(content: str) -> bytes:
    """A request that holds text, as bytes."""
    return messages.SynthesizeRequest(text=content).SerializeToString()


@dataclass(frozen=True)
class Bad:
    """A row of the table."""

    sends: tuple[bytes, ...]
    code: Code
    reason: str
    sentence: str
    fields: tuple[str, ...] = field(default=())


TABLE = {
    "empty stream": Bad((), INVALID, "OUT_OF_ORDER", "closed without any message", ("config",)),
    "text before the config": Bad(
        (TEXT,), INVALID, "OUT_OF_ORDER", "The first message of a stream is text; it must be", ("config",)
    ),
    "flush before the config": Bad((b"\x1a\x00",), INVALID, "OUT_OF_ORDER", "is flush", ("config",)),
    "cancel before the config": Bad((b'"\x00',), INVALID, "OUT_OF_ORDER", "is cancel", ("config",)),
    "a message with nothing in it": Bad(
        (config(), b""), INVALID, "INVALID_REQUEST", "holds nothing that this server knows", ("message",)
    ),
    "a kind of message of a later version": Bad(
        (config(), b"\xa2\x06\x00"), INVALID, "INVALID_REQUEST", "holds nothing that", ("message",)
    ),
    "unknown voice": Bad((config(voice="tinny"),), Code.NOT_FOUND, "VOICE_NOT_FOUND", "did you mean 'tiny'"),
    "later config with an unknown voice": Bad(
        (config(), TEXT, config(voice="x")), Code.NOT_FOUND, "VOICE_NOT_FOUND", "There is no voice named 'x'"
    ),
    "sample rate too low": Bad(
        (config(audio_format=audio_pb2.AudioFormat(sample_rate_hz=7999)),),
        INVALID,
        "OUT_OF_RANGE",
        "7999 Hz lies outside 8000 to 48000 Hz",
        ("config.audio_format.sample_rate_hz",),
    ),
    "sample rate negative": Bad(
        (config(audio_format=audio_pb2.AudioFormat(sample_rate_hz=-1)),),
        INVALID,
        "OUT_OF_RANGE",
        "-1 Hz lies outside",
        ("config.audio_format.sample_rate_hz",),
    ),
    "unknown encoding": Bad(
        (b"\x0a\x04\x12\x02\x08\x63",),
        INVALID,
        "INVALID_CONFIG",
        "encoding is 99, which this server does not know; use one of 0",
        ("config.audio_format.encoding",),
    ),
    "temperature not a number": Bad(
        (config(sampling=Sampling(temperature=math.nan)),),
        INVALID,
        "OUT_OF_RANGE",
        "not nan",
        ("config.sampling.temperature",),
    ),
    "temperature infinite": Bad(
        (config(sampling=Sampling(temperature=math.inf)),),
        INVALID,
        "OUT_OF_RANGE",
        "not inf",
        ("config.sampling.temperature",),
    ),
    "a parameter the voice does not have": Bad(
        (config(sampling=Sampling(family_parameters={"loudness": 1.0})),),
        INVALID,
        "INVALID_CONFIG",
        "no parameter 'loudness'; it has temperature",
        ("config.sampling.loudness",),
    ),
    "speed not a number": Bad(
        (config(speaking_rate=math.nan),),
        INVALID,
        "OUT_OF_RANGE",
        "is nan; it must",
        ("config.speaking_rate",),
    ),
    "another speed": Bad(
        (config(speaking_rate=1.5),), Code.UNIMPLEMENTED, "FEATURE_UNAVAILABLE", "can change its speed"
    ),
    "negative seed": Bad((config(seed=-1),), INVALID, "OUT_OF_RANGE", "is -1", ("config.seed",)),
    "lead too small": Bad(
        (config(max_lead=duration_pb2.Duration(nanos=1)),),
        INVALID,
        "OUT_OF_RANGE",
        "0.1 s",
        ("config.max_lead",),
    ),
    "language of another voice": Bad(
        (config(language="fr"),), INVALID, "INVALID_CONFIG", "'tiny' speaks en-US", ("config.language",)
    ),
    "text of a megabyte": Bad((config(), text("word " * 200_000)), INVALID, "TEXT_TOO_LONG", "characters", ("text",)),
    "text that is not UTF-8": Bad(
        (config(), b"\x12\x03a\xff\xfe"), INVALID, "INVALID_REQUEST", "holds text that is not UTF-8"
    ),
    "bytes of something else": Bad((b"\x0a\xff\xff",), INVALID, "INVALID_REQUEST", "cannot be read"),
}


async def refused(app: App, sends: tuple[bytes, ...], timeout_s: float | None = 20.0) -> aio.AioRpcError:
    """Sends raw messages, half-closes, and returns the error."""
    async with aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        method = channel.stream_stream("/antiphon.v1.TextToSpeechService/Synthesize")

        async def requests() -> AsyncIterator[bytes]:
            for message in sends:
                yield message

        call: aio.StreamStreamCall[bytes, bytes] = method(requests(), timeout=timeout_s)
        with pytest.raises(aio.AioRpcError) as error:
            async for _ in call:
                pass
        return error.value


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
async def test_bad_input_is_refused_with_a_sentence(app: App, row: Bad) -> None:
    """Status, reason, fields and sentence are those of the table."""
    error = await refused(app, row.sends)
    details = error_from_rpc(error)

    assert (row.code, row.reason, row.fields) == (error.code(), details.reason, tuple(details.fields))
    assert row.sentence in str(details)
    assert str(details).endswith((".", "?"))
    assert "hello" not in str(details)


async def test_others_do_not_notice(app: App, client: AsyncClient) -> None:
    """While the whole table is sent, a speech beside it sounds as it does alone."""
    sentence = "A healthy stream is not disturbed by what its neighbors send. "
    options = SpeechOptions(seed=3, max_lead_s=3600.0)

    async def spoken() -> bytes:
        return b"".join([chunk.audio async for chunk in client.speak(sentence * 8, options)])

    alone = await spoken()
    healthy = asyncio.create_task(spoken())
    await asyncio.gather(*(refused(app, row.sends) for row in TABLE.values()))

    assert alone == await healthy


async def test_an_expired_deadline_is_told(app: App) -> None:
    """A call whose time is over before it begins ends as such and leaves nothing behind."""
    error = await refused(app, (config(), TEXT), timeout_s=1e-6)

    assert Code.DEADLINE_EXCEEDED == error.code()


@pytest.mark.parametrize(
    ("call", "code", "sentence"),
    [
        (
            lambda stub: stub.GetVoice(messages.GetVoiceRequest(name="nobody")),
            Code.NOT_FOUND,
            "no voice named 'nobody'",
        ),
        (
            lambda stub: stub.ListVoices(messages.ListVoicesRequest(page_size=-1)),
            INVALID,
            "page_size is -1",
        ),
        (lambda stub: stub.ListVoices(messages.ListVoicesRequest(page_token="x")), INVALID, "page_token"),
        (lambda stub: stub.DeleteVoice(messages.DeleteVoiceRequest(name="tiny")), Code.UNIMPLEMENTED, "are fixed"),
        (lambda stub: stub.CreateVoice(iter([messages.CreateVoiceRequest()])), Code.UNIMPLEMENTED, "are fixed"),
    ],
    ids=["unknown voice", "negative page size", "foreign page token", "delete", "create"],
)
async def test_voice_calls_refuse_with_a_sentence(
    stub: object, call: Callable[[object], object], code: Code, sentence: str
) -> None:
    """The other methods answer by the same table; what is not built says so."""
    with pytest.raises(aio.AioRpcError, match=sentence) as error:
        await call(stub)  # type: ignore[misc] # a call of whatever method

    assert code == error.value.code()
