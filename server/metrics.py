"""Every metric of speaking, in one table. Calls have theirs in `call_metrics`; both share one registry.

Base units, one prefix, and no label that a caller could fill: neither text nor names nor ids.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from trt_engines.cuda.gpu_monitor import GpuMonitor

_TTFA_S = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0)
_STEP_S = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 1.0)
_LEAD_S = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3.0, 6.0, 15.0, 60.0)
_GAP_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0)
_WAIT_S = (0.0, 0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_RTF = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 5.0)
_ROWS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)


class Metrics:
    """The table; safe to use from any thread.

    Args:
        registry: Where to register; None makes a registry of its own, so that two servers in one process do not clash.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry = registry or CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, text, registry=registry, buckets=buckets)

        self.time_to_first_audio = histogram(
            "tts_time_to_first_audio_seconds", "From the first text to the first chunk handed out.", _TTFA_S
        )
        self.time_to_first_audible = histogram(
            "tts_time_to_first_audible_seconds", "From the first text to the first sample one can hear.", _TTFA_S
        )
        self.real_time_factor = histogram(
            "tts_real_time_factor", "Time in steps and vocoder batches over audio made, per utterance.", _RTF
        )
        self.lead = histogram("tts_lead_seconds", "Lead that was left when the next chunk came.", _LEAD_S)
        self.underruns = counter("tts_underruns", "Times a listener ran out of audio by the server's fault.")
        self.underrun_length = histogram("tts_underrun_seconds", "How long such a silence lasted.", _GAP_S)
        self.step_time = histogram("tts_step_seconds", "One frame for every row of the batch.", _STEP_S)
        self.prefill_time = histogram("tts_prefill_seconds", "One prefill of prompt rows.", _STEP_S)
        self.vocode_time = histogram("tts_vocode_seconds", "One batch of the vocoder.", _STEP_S)
        self.batch_rows = histogram("tts_batch_rows", "Segments that shared a step.", _ROWS)
        self.slots = gauge("tts_slots", "Slots of the talker.")
        self.slots_in_use = gauge("tts_slots_in_use", "Slots lent to segments.")
        self.active_streams = gauge("tts_active_streams", "Utterances that have a place.")
        self.capacity = gauge("tts_capacity_streams", "Utterances that would get a place.")
        self.queue_depth = gauge("tts_queue_depth", "Utterances that wait for a place.")
        self.queue_wait = histogram("tts_queue_wait_seconds", "How long an utterance waited for its place.", _WAIT_S)
        self.refused = counter("tts_refused", "Utterances refused, by reason.", "reason")
        self.utterances = counter("tts_utterances", "Utterances ended, by how they ended.", "outcome")
        self.audio_seconds = counter("tts_audio_seconds", "Audio handed out.")
        self.characters = counter("tts_characters", "Characters of text received.")

    def watch_gpu(self, gpu: GpuMonitor) -> None:
        """Adds the figures of the GPU, read at each scrape."""
        figures = {
            "tts_gpu_memory_bytes": ("Memory of the GPU.", gpu.memory_bytes),
            "tts_gpu_memory_used_bytes": ("How much of it is taken, by whomever.", gpu.memory_used_bytes),
            "tts_gpu_utilization_ratio": ("Share of the last moments in which a kernel ran.", gpu.utilization),
        }
        for name, (text, read) in figures.items():
            Gauge(name, text, registry=self.registry).set_function(read)
