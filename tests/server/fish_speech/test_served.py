"""A server on a Fish Speech bundle: text and voice in through a socket, the original's audio out."""

import asyncio
import io
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import grpc
import numpy as np
import pytest
import soundfile
from google.protobuf import timestamp_pb2
from grpc import aio
from numpy.typing import NDArray

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1 import voice_pb2
from antiphon.v1.text_to_speech_service_pb2_grpc import TextToSpeechServiceStub
from antiphon_client.aio import AsyncClient
from antiphon_client.options import Encoding, SpeechOptions
from server.app import App
from server.config import EngineSettings, ListenSettings, SegmentSettings, Settings
from tests.server.fish_speech.recorded_bundle import (
    RECORDED,
    recorded_array,
    recorded_checkpoint,
    write_recorded_bundle,
)
from trt_engines.onnx_runtime.prefill_runner import PrefillRunner, PromptPart


@pytest.fixture(scope="module")
def bundle_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the recorded run: its networks, its reference as a voice, its greedy sampling as the default."""
    bundle = tmp_path_factory.mktemp("fish") / "bundle"
    write_recorded_bundle(bundle, recorded_checkpoint())
    return bundle


def _app(bundle_dir: Path, prefix_cache_bytes: int = 1 << 20, first_bytes: int = 24) -> App:
    engine = EngineSettings(
        bundle_dir=str(bundle_dir),
        slot_count=2,
        threads=1,
        voices_dir=str(bundle_dir.parent / "made"),
        prefix_cache_bytes=prefix_cache_bytes,
    )
    segments = SegmentSettings(max_bytes=RECORDED["chunk_length"], first_bytes=first_bytes)
    return App(Settings(listen=ListenSettings(port=0, metrics_port=-1), engine=engine, segments=segments))


async def _hear(app: App, voice: str, text: str = RECORDED["segments"][0]["text"]) -> NDArray[np.float32]:
    """Return the samples of a text, by default the first recorded segment."""
    options = SpeechOptions(voice=voice, encoding=Encoding.FLOAT32, seed=1)
    async with AsyncClient(f"127.0.0.1:{app.port}") as client:
        speech = client.speak(text, options)
        audio = b"".join([chunk.audio async for chunk in speech])
    return np.frombuffer(audio, "<f4")


def _creation(name: str, audio: bytes) -> list[messages.CreateVoiceRequest]:
    consent = voice_pb2.Consent(
        speaker_name="Anna", statement="I agree.", consent_time=timestamp_pb2.Timestamp(seconds=1_700_000_000)
    )
    config = voice_pb2.VoiceConfig(name=name, transcript=RECORDED["reference_text"], consent=consent, language="en")
    parts = [audio[start : start + 10_000] for start in range(0, len(audio), 10_000)]
    first = messages.CreateVoiceRequest(config=config)
    return [first, *(messages.CreateVoiceRequest(audio=part) for part in parts)]


async def test_a_client_hears_what_the_original_speaks(bundle_dir: Path) -> None:
    """Tokenizer, prompt, talker, streaming vocoder and server together give the recorded samples."""
    async with _app(bundle_dir) as app:
        samples = await _hear(app, "recorded")
    np.testing.assert_allclose(samples, recorded_array("segment0_clean_audio"), atol=1e-5)


@pytest.mark.parametrize("first_bytes", [0, 24], ids=["as the original", "early"])
async def test_a_second_segment_keeps_the_first_in_its_context(bundle_dir: Path, first_bytes: int) -> None:
    """What the original speaks after its own first segment is heard after ours; it was recorded for 14 frames."""
    first, second = recorded_array("segment0_clean_audio"), recorded_array("segment1_clean_audio")
    async with _app(bundle_dir, first_bytes=first_bytes) as app:
        samples = await _hear(app, "recorded", RECORDED["text"])
    np.testing.assert_allclose(samples[: len(first)], first, atol=1e-5)
    np.testing.assert_allclose(samples[len(first) : len(first) + len(second)], second, atol=1e-5)


@pytest.mark.parametrize(("prefix_cache_bytes", "computed"), [(1 << 20, [1, 0]), (0, [1, 1])], ids=["kept", "none"])
async def test_the_rows_of_a_voice_are_computed_once_if_that_is_set(
    bundle_dir: Path, monkeypatch: pytest.MonkeyPatch, prefix_cache_bytes: int, computed: list[int]
) -> None:
    """The second utterance of a voice copies its first chunk of 64 rows, unless no memory is set aside for that."""
    starts: list[int] = []
    run = PrefillRunner.run

    def note(runner: PrefillRunner, parts: Sequence[PromptPart]) -> None:
        starts.extend(part.start for part in parts)
        run(runner, parts)

    monkeypatch.setattr(PrefillRunner, "run", note)
    async with _app(bundle_dir, prefix_cache_bytes) as app:
        counts = []
        for _ in range(2):
            starts.clear()
            await _hear(app, "recorded")
            counts.append(starts.count(0))
    assert counts == computed


async def test_a_voice_made_of_the_recorded_reference_speaks_like_it(bundle_dir: Path) -> None:
    """A client sends the recording, hears the original's samples, also after a restart, and deletes the voice."""
    recording = recorded_array("reference_wav_int16").astype("<i2").tobytes()
    async with _app(bundle_dir) as app, aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        stub = TextToSpeechServiceStub(channel)
        made = (await stub.CreateVoice(iter(_creation("cloned", recording)))).voice
        assert (made.name, made.custom, list(made.languages)) == ("cloned", True, ["en"])
        with pytest.raises(aio.AioRpcError) as refused:
            await stub.CreateVoice(iter(_creation("cloned", recording)))
        assert refused.value.code() is grpc.StatusCode.ALREADY_EXISTS
        with pytest.raises(aio.AioRpcError) as refused:
            await stub.CreateVoice(iter(_creation("silent", bytes(60_000))))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "is silent" in str(refused.value.details())
        np.testing.assert_allclose(await _hear(app, "cloned"), recorded_array("segment0_clean_audio"), atol=1e-5)
    async with _app(bundle_dir) as app, aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        stub = TextToSpeechServiceStub(channel)
        np.testing.assert_allclose(await _hear(app, "cloned"), recorded_array("segment0_clean_audio"), atol=1e-5)
        await stub.DeleteVoice(messages.DeleteVoiceRequest(name="cloned"))
        listed = (await stub.ListVoices(messages.ListVoicesRequest())).voices
        assert [voice.name for voice in listed] == ["recorded"]


async def test_a_creation_out_of_order_is_refused(bundle_dir: Path) -> None:
    """Config first and once, then audio in parts of a megabyte at most."""
    config = _creation("a", b"")
    cases = [
        ([], "ended without a message"),
        ([messages.CreateVoiceRequest()], "is empty"),
        ([messages.CreateVoiceRequest(audio=b"x")], "takes one `config`, as the first message"),
        ([*config, *config], "takes one `config`, as the first message"),
        (_creation("A", b""), "cannot be the name of a voice"),
        ([*config, messages.CreateVoiceRequest(audio=bytes(1 << 21))], "came in a part of 2097152 bytes"),
    ]
    async with _app(bundle_dir) as app, aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        for requests, fault in cases:
            with pytest.raises(aio.AioRpcError) as refused:
                await TextToSpeechServiceStub(channel).CreateVoice(iter(requests))
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert fault in str(refused.value.details())


async def test_what_is_no_recording_is_refused_over_the_socket(bundle_dir: Path) -> None:
    """Text, noise, another kind of file, a file that is cut off: INVALID_ARGUMENT, and the sentence names the fault."""
    recording = recorded_array("reference_wav_int16")
    whole = io.BytesIO()
    soundfile.write(whole, np.stack([recording, recording], 1), 44_100, format="OGG", subtype="VORBIS")
    cases = [
        (b"The words, not the sound. " * 4000, "is text"),
        (np.random.default_rng(1).bytes(100_000), "is noise, not speech"),
        (b"\0\0\0\x20ftypM4A " + bytes(90_000), "begins like an MP4 or M4A file"),
        (whole.getvalue()[:-100], "of kind Ogg but cannot be read: it is damaged, or not complete"),
        (b"", "lasts 0.0 s"),
        (np.full(44_100, 32_767, "<i2").tobytes(), "is clipped"),
    ]
    async with _app(bundle_dir) as app, aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        stub = TextToSpeechServiceStub(channel)
        for audio, fault in cases:
            with pytest.raises(aio.AioRpcError) as refused:
                await stub.CreateVoice(iter(_creation("faulty", audio)))
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert fault in str(refused.value.details())
        made = (await stub.CreateVoice(iter(_creation("faulty", whole.getvalue())))).voice
        assert made.name == "faulty"
        await stub.DeleteVoice(messages.DeleteVoiceRequest(name="faulty"))


async def test_of_two_calls_for_one_name_one_makes_it(bundle_dir: Path) -> None:
    """The other one is told that the name is taken, and the voice speaks."""
    recording = recorded_array("reference_wav_int16").astype("<i2").tobytes()
    async with _app(bundle_dir) as app, aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        stub = TextToSpeechServiceStub(channel)
        calls = [stub.CreateVoice(iter(_creation("twin", recording))) for _ in range(3)]
        codes = sorted([(await call.code()).name for call in calls])
        assert codes == ["ALREADY_EXISTS", "ALREADY_EXISTS", "OK"]
        np.testing.assert_allclose(await _hear(app, "twin"), recorded_array("segment0_clean_audio"), atol=1e-5)
        await stub.DeleteVoice(messages.DeleteVoiceRequest(name="twin"))


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(bundle_dir: Path) -> None:
    """The name is free, no directory is left, and the next call makes the voice."""
    recording = recorded_array("reference_wav_int16").astype("<i2").tobytes()
    half, has_sent = _creation("fleeting", recording)[:2], asyncio.Event()

    async def send() -> AsyncIterator[messages.CreateVoiceRequest]:
        for request in half:
            yield request
        has_sent.set()
        await asyncio.Event().wait()

    async with _app(bundle_dir) as app, aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        stub = TextToSpeechServiceStub(channel)
        call = stub.CreateVoice(send())
        await has_sent.wait()
        call.cancel()
        assert await call.code() is grpc.StatusCode.CANCELLED
        assert (await stub.CreateVoice(iter(_creation("fleeting", recording)))).voice.custom
        await stub.DeleteVoice(messages.DeleteVoiceRequest(name="fleeting"))
    assert await asyncio.to_thread(os.listdir, bundle_dir.parent / "made") == []


async def test_a_place_for_voices_that_cannot_be_written_is_told(bundle_dir: Path) -> None:
    """An error of the server with a reason of its own; voices that are there go on speaking."""
    recording = recorded_array("reference_wav_int16").astype("<i2").tobytes()
    async with _app(bundle_dir) as app, aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        await asyncio.to_thread((bundle_dir.parent / "made").rmdir)
        with pytest.raises(aio.AioRpcError) as refused:
            await TextToSpeechServiceStub(channel).CreateVoice(iter(_creation("homeless", recording)))
        assert refused.value.code() is grpc.StatusCode.INTERNAL
        assert "'homeless' cannot be kept: No such file or directory" in str(refused.value.details())
        assert len(await _hear(app, "recorded")) > 0
