"""The dashboard: names that people know, base units, and no label that a caller could fill."""

import re

from prometheus_client import CollectorRegistry, generate_latest

from server.metrics import Metrics

EXPECTED = {
    "tts_active_streams",
    "tts_audio_seconds",
    "tts_batch_rows",
    "tts_lead_seconds",
    "tts_queue_depth",
    "tts_queue_wait_seconds",
    "tts_real_time_factor",
    "tts_refused",
    "tts_slots_in_use",
    "tts_step_seconds",
    "tts_time_to_first_audio_seconds",
    "tts_time_to_first_audible_seconds",
    "tts_underruns",
}


def test_what_operators_need_is_there() -> None:
    """Latency, continuity, load and refusals can all be seen."""
    names = {metric.name for metric in Metrics().registry.collect()}

    assert names >= EXPECTED


def test_names_are_uniform() -> None:
    """One prefix, and words in lower case."""
    assert all(re.fullmatch(r"tts(_[a-z]+)+", metric.name) for metric in Metrics().registry.collect())


def test_labels_are_few_and_ours() -> None:
    """Only reasons and outcomes, both from fixed lists, split a metric."""
    metrics = Metrics()
    metrics.refused.labels("SERVER_FULL").inc()
    metrics.utterances.labels("completed").inc()
    labels = {
        label for metric in metrics.registry.collect() for sample in metric.samples for label in sample.labels
    } - {"le"}

    assert {"reason", "outcome"} == labels


def test_two_servers_in_one_process_do_not_clash() -> None:
    """Every table has a registry of its own, unless it is given one."""
    registry = CollectorRegistry()

    assert Metrics().registry is not Metrics().registry
    assert registry is Metrics(registry).registry
    assert b"tts_slots 0.0" in generate_latest(registry)
