"""What ready-made tools ask of a gRPC server: health, reflection, load generators, metrics, keys, certificates."""

import asyncio
import urllib.request
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from google.protobuf import descriptor_database, descriptor_pb2, descriptor_pool, json_format
from grpc import aio
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from antiphon.v1 import text_to_speech_service_pb2 as messages
from antiphon.v1.text_to_speech_service_pb2_grpc import TextToSpeechServiceStub
from antiphon_client.aio import AsyncClient
from antiphon_client.errors import AuthenticationError, ServerUnavailableError
from antiphon_client.options import ConnectionOptions, Retry, SpeechOptions
from server.app import App
from server.config import ListenSettings, SecuritySettings
from server.errors import SettingsError
from tests.e2e.conftest import gauge, server_settings

DATA = Path(__file__).parents[1] / "data" / "certificates"
SERVICE = "antiphon.v1.TextToSpeechService"


@pytest.mark.parametrize("name", ["", SERVICE])
async def test_health_says_serving(app: App, name: str) -> None:
    """Both the server and the service report SERVING once warmed up; an unknown service is NOT_FOUND."""
    async with aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
        with pytest.raises(aio.AioRpcError) as unknown:
            await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))

    assert health_pb2.HealthCheckResponse.SERVING == answer.status
    assert grpc.StatusCode.NOT_FOUND == unknown.value.code()


async def test_reflection_gives_the_contract(app: App) -> None:
    """A tool without the .proto files lists the services and gets the descriptors of every message of a call."""
    async with aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        call = stub.ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        listed = await call.read()
        await call.write(reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE))
        found = await call.read()
        await call.done_writing()
    services = {service.name for service in listed.list_services_response.service}
    database = descriptor_database.DescriptorDatabase()
    for file in found.file_descriptor_response.file_descriptor_proto:
        database.Add(descriptor_pb2.FileDescriptorProto.FromString(file))
    pool = descriptor_pool.DescriptorPool(database)

    assert {SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"} == services
    method = pool.FindServiceByName(SERVICE).FindMethodByName("Synthesize")
    assert (True, True) == (method.client_streaming, method.server_streaming)
    assert {"config", "text", "flush", "cancel"} == set(method.input_type.fields_by_name)


async def test_a_load_generator_can_send_its_messages_in_a_cycle(stub: TextToSpeechServiceStub) -> None:
    """JSON messages, config first, sent twice around, then half-close: two utterances, and the server ends the call."""
    data = [{"config": {"seed": "7", "maxLead": "3600s"}}, {"text": "Hello "}, {"text": "there."}]
    call = stub.Synthesize()
    for message in data + data:
        await call.write(json_format.ParseDict(message, messages.SynthesizeRequest()))
    await call.done_writing()
    kinds = [response.WhichOneof("message") async for response in call]

    assert 2 == kinds.count("started") == kinds.count("finished")
    assert grpc.StatusCode.OK == await call.code()


async def test_the_request_id_comes_back(stub: TextToSpeechServiceStub) -> None:
    """The id of the caller is sent back in the initial metadata; one unfit for a log line is replaced."""
    request = messages.GetVoiceRequest()
    given = await stub.GetVoice(request, metadata=(("x-request-id", "abc-1"),)).initial_metadata()
    unfit = await stub.GetVoice(request, metadata=(("x-request-id", "a b"),)).initial_metadata()
    made = await stub.GetVoice(request).initial_metadata()

    assert "abc-1" == given["x-request-id"]
    assert 32 == len(str(unfit["x-request-id"])) == len(str(made["x-request-id"]))


async def test_voices_come_in_pages(stub: TextToSpeechServiceStub) -> None:
    """A page holds what was asked for, and its token leads to the rest."""
    first = await stub.ListVoices(messages.ListVoicesRequest(page_size=1))
    second = await stub.ListVoices(messages.ListVoicesRequest(page_size=1, page_token=first.next_page_token))

    assert [["tiny"], ["tiny-two"]] == [[voice.name for voice in page.voices] for page in (first, second)]
    assert "" == second.next_page_token


async def test_calls_are_counted(app: App, client: AsyncClient) -> None:
    """The names that dashboards of gRPC servers know are there, by method and status."""
    labels = {"grpc_type": "bidi_stream", "grpc_service": SERVICE, "grpc_method": "Synthesize"}

    def counts() -> list[float]:
        ended = gauge(app, "grpc_server_handled_total", grpc_code="OK", **labels)
        received = gauge(app, "grpc_server_msg_received_total", **labels)
        return [gauge(app, "grpc_server_started_total", **labels), ended, received]

    before = counts()
    chunks = [chunk async for chunk in client.speak(["Hello ", "there."], SpeechOptions(max_lead_s=3600.0))]

    assert [1, 1, 4] == [after - earlier for after, earlier in zip(counts(), before, strict=True)]
    assert gauge(app, "grpc_server_msg_sent_total", **labels) >= len(chunks)


async def test_metrics_are_served(tiny_bundle: Path) -> None:
    """Prometheus finds the metrics on a port of their own, and channelz answers where it is wanted."""
    settings = replace(server_settings(tiny_bundle), listen=ListenSettings(port=0, metrics_port=0, channelz=True))
    async with App(settings) as app:
        url = f"http://127.0.0.1:{app.metrics_port}/metrics"
        page = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=10).read().decode())
        async with aio.insecure_channel(f"127.0.0.1:{app.port}") as channel:
            servers = await channelz_pb2_grpc.ChannelzStub(channel).GetServers(channelz_pb2.GetServersRequest())

    assert "tts_time_to_first_audio_seconds_bucket" in page
    assert "grpc_server_handled_total" in page
    assert servers.server


async def test_keys_lock_the_service_and_not_its_health(tiny_bundle: Path, tmp_path: Path) -> None:
    """With keys only who sends one may speak; health stays open for those who watch."""
    keys = tmp_path / "keys"
    keys.write_text("secret\n")
    settings = replace(server_settings(tiny_bundle), security=SecuritySettings(api_keys_file=str(keys)))
    async with App(settings) as app:
        target = f"127.0.0.1:{app.port}"
        async with AsyncClient(target) as nobody, AsyncClient(target, ConnectionOptions(api_key="secret")) as friend:
            with pytest.raises(AuthenticationError, match="wants an API key") as refusal:
                await nobody.voices()
            with pytest.raises(AuthenticationError):
                await nobody.speak("Hello.").save(tmp_path / "never.wav")
            assert 2 == len(await friend.voices())
        async with aio.insecure_channel(target) as channel:
            await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())

    assert "UNAUTHENTICATED" == refusal.value.reason


async def test_certificates_of_both_sides(tiny_bundle: Path) -> None:
    """With TLS and a client authority only a client with a certificate is let in."""
    security = SecuritySettings(
        tls_certificate_file=str(DATA / "server.pem"),
        tls_key_file=str(DATA / "server.key"),
        tls_client_ca_file=str(DATA / "authority.pem"),
    )
    authority, certificate, key = ((DATA / name).read_bytes() for name in ("authority.pem", "client.pem", "client.key"))
    once = Retry(attempt_count=1)
    known = ConnectionOptions(
        tls=True, root_certificates=authority, client_certificate=certificate, client_key=key, retry=once
    )
    async with App(replace(server_settings(tiny_bundle), security=security)) as app:
        async with AsyncClient(f"localhost:{app.port}", known) as client:
            assert 2 == len(await client.voices())
        stranger = ConnectionOptions(tls=True, root_certificates=authority, retry=once)
        async with AsyncClient(f"localhost:{app.port}", stranger) as client:
            with pytest.raises(ServerUnavailableError):
                await client.voices(timeout_s=5.0)


async def test_a_server_that_cannot_start_says_why(tiny_bundle: Path, app: App) -> None:
    """A port that is taken and a bundle that is not there are sentences, and nothing is left running."""
    taken = replace(server_settings(tiny_bundle), listen=ListenSettings(port=app.port, metrics_port=-1))
    with pytest.raises(SettingsError, match=rf"Cannot listen on 127\.0\.0\.1:{app.port}"):
        async with App(taken):
            pass
    with pytest.raises(SettingsError, match="no voice bundle at nowhere"):
        async with App(server_settings(Path("nowhere"))):
            pass
