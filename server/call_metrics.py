"""Metrics of gRPC calls, under the names that dashboards for gRPC servers know."""

from prometheus_client import CollectorRegistry, Counter, Histogram

_LABELS = ("grpc_type", "grpc_service", "grpc_method")
_BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000)


class CallMetrics:
    """Counts calls and messages by method. No label ever holds anything a caller wrote.

    Args:
        registry: Where the metrics are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._started = Counter("grpc_server_started", "Calls started.", _LABELS, registry=registry)
        self._handled = Counter(
            "grpc_server_handled", "Calls ended, by status.", (*_LABELS, "grpc_code"), registry=registry
        )
        self._received = Counter("grpc_server_msg_received", "Messages received.", _LABELS, registry=registry)
        self._sent = Counter("grpc_server_msg_sent", "Messages sent.", _LABELS, registry=registry)
        self._handling = Histogram(
            "grpc_server_handling_seconds", "Length of calls.", _LABELS, registry=registry, buckets=_BUCKETS_S
        )

    def started(self, labels: tuple[str, str, str]) -> None:
        """Counts a call that begins."""
        self._started.labels(*labels).inc()

    def handled(self, labels: tuple[str, str, str], code_name: str, seconds: float) -> None:
        """Counts a call that has ended."""
        self._handled.labels(*labels, code_name).inc()
        self._handling.labels(*labels).observe(seconds)

    def received(self, labels: tuple[str, str, str]) -> None:
        """Counts a message that came in."""
        self._received.labels(*labels).inc()

    def sent(self, labels: tuple[str, str, str]) -> None:
        """Counts a message that went out."""
        self._sent.labels(*labels).inc()
