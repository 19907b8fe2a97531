"""The gRPC server around the service: port, keepalive, TLS, health, reflection, channelz."""

import importlib.util
from collections.abc import Sequence

from grpc import aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from antiphon.v1 import text_to_speech_service_pb2
from antiphon.v1.text_to_speech_service_pb2_grpc import add_TextToSpeechServiceServicer_to_server
from server.config import ListenSettings, SecuritySettings
from server.credentials import server_credentials
from server.errors import SettingsError
from server.interceptors import CallInterceptor
from server.service import TextToSpeechService

_SERVICE = text_to_speech_service_pb2.DESCRIPTOR.services_by_name["TextToSpeechService"].full_name
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_CLOSE_GRACE_S = 1.0  # for statuses that are still being sent; speeches have ended by then, or are to be cut off


class Listener:
    """Listens from `start` on; says that it serves from `open` to `close`.

    Args:
        settings: Where and how to listen.
        security: Who may call.
        service: What is served.
        interceptor: What surrounds every call.
    """

    def __init__(
        self,
        settings: ListenSettings,
        security: SecuritySettings,
        service: TextToSpeechService,
        interceptor: CallInterceptor,
    ) -> None:
        self._settings = settings
        self._security = security
        self._health = health.aio.HealthServicer()
        self._server = aio.server(interceptors=(interceptor,), options=_options(settings))
        self.port = 0
        add_TextToSpeechServiceServicer_to_server(service, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        if settings.reflection:
            names = (_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        if settings.channelz:
            _add_channelz(self._server)

    async def start(self) -> None:
        """Binds the port and answers calls; health is NOT_SERVING.

        Raises:
            SettingsError: The port is taken, or a certificate is missing.
        """
        await self._report(_NOT_SERVING)
        self.port = self._bind()
        await self._server.start()

    async def open(self) -> None:
        """Reports SERVING."""
        await self._report(_SERVING)

    async def close(self) -> None:
        """Reports NOT_SERVING from now on; calls are still answered."""
        await self._health.enter_graceful_shutdown()

    async def stop(self, grace_s: float = _CLOSE_GRACE_S) -> None:
        """Takes no more calls, and cuts off those that have not ended within `grace_s`."""
        await self._server.stop(grace_s)

    async def _report(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for name in ("", _SERVICE):
            await self._health.set(name, status)

    def _bind(self) -> int:
        host, port = self._settings.host, self._settings.port
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        security = self._security
        credentials = server_credentials(
            security.tls_certificate_file, security.tls_key_file, security.tls_client_ca_file
        )
        try:
            if credentials is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise SettingsError(
                f"Cannot listen on {address}: it is taken or not allowed. Set listen.port to another; 0 takes any."
            ) from error


def _options(settings: ListenSettings) -> Sequence[tuple[str, int]]:
    options = {
        # Finds dead clients in 25 s, and lets clients ping an idle stream every 5 s.
        "grpc.keepalive_time_ms": 20_000,
        "grpc.keepalive_timeout_ms": 5_000,
        "grpc.keepalive_permit_without_calls": 1,
        "grpc.http2.min_ping_interval_without_data_ms": 5_000,
        # Fixed small windows: with the probe on, more than a minute of audio hides in the transport.
        "grpc.http2.bdp_probe": 0,
        # A second server on the same port fails at once and does not silently share its calls.
        "grpc.so_reuseport": 0,
        "grpc.max_receive_message_length": settings.max_message_bytes,
    }
    if settings.max_connection_age_s > 0:
        options["grpc.max_connection_age_ms"] = round(settings.max_connection_age_s * 1000)
    return tuple(options.items())


def _add_channelz(server: aio.Server) -> None:
    if importlib.util.find_spec("grpc_channelz") is None:
        raise SettingsError("Setting listen.channelz needs grpcio-channelz: `pip install grpcio-channelz`.")
    from grpc_channelz.v1 import channelz

    channelz.add_channelz_servicer(server)
