"""Where the processor time goes: per thread of a busy server and of its load generator, per frame of speech.

    python -m benchmarks.cpu_account voices/default --streams 16

Unpaced utterances keep all streams busy. `waits` is how long a thread was ready and had no core: where it is large,
more threads compute than there are cores. Linux only. Writes `benchmarks/results/cpu_account.json`.
"""

import argparse
import asyncio
import os
import re
import time
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from antiphon_client.aio import AsyncClient
from benchmarks.batching import WARM_UP_S, Meter, continuous, utterances
from benchmarks.record import record
from benchmarks.server_process import free_port, running_server
from trt_engines.manifest_loading import load_manifest

_NUMBER = re.compile(r"[-_]?\d+\b.*$")  # threads of one pool differ by a number
_COUNTED = ("tts_step_seconds", "tts_batch_rows", "tts_prefill_seconds", "tts_vocode_seconds")


class Times(NamedTuple):
    """Seconds on a core, and seconds ready but without one."""

    busy_s: float = 0.0
    waits_s: float = 0.0


def thread_times(pid: int) -> dict[str, Times]:
    """Return the times of all threads of a process so far, those of one pool together."""
    times: dict[str, Times] = defaultdict(Times)
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, (busy, waits, _) = (task / "comm").read_text().strip(), (task / "schedstat").read_text().split()
        except FileNotFoundError:  # it has just ended
            continue
        total = times[_NUMBER.sub("", name)]
        times[_NUMBER.sub("", name)] = Times(total.busy_s + int(busy) / 1e9, total.waits_s + int(waits) / 1e9)
    return times


def totals(url: str) -> dict[str, float]:
    """Return sums and counts of the metrics that tell about steps, prefills and batches of the vocoder."""
    with urllib.request.urlopen(url) as page:
        lines = page.read().decode().splitlines()
    wanted = {f"{name}_{part}" for name in _COUNTED for part in ("sum", "count")}
    return {name: float(value) for name, _, value in (line.partition(" ") for line in lines) if name in wanted}


def _more(after: dict[str, Times], before: dict[str, Times], whose: str) -> dict[str, Times]:
    none = Times()
    return {
        f"{whose} {name}": Times(*(late - early for late, early in zip(times, before.get(name, none), strict=True)))
        for name, times in after.items()
    }


async def account(target: str, pid: int, metrics_url: str, streams: int, seconds: float) -> dict[str, object]:
    """Keep a server busy and return what it and this process have spent meanwhile."""
    async with AsyncClient(target) as client:
        meter = Meter(client)
        work = asyncio.create_task(continuous(meter.say, utterances(0), streams))
        await asyncio.wait([work], timeout=WARM_UP_S)
        audio_s, began_s, counts = meter.audio_s, time.perf_counter(), totals(metrics_url)
        server, own = thread_times(pid), thread_times(os.getpid())
        await asyncio.wait([work], timeout=seconds)
        threads = _more(thread_times(pid), server, "server") | _more(thread_times(os.getpid()), own, "clients")
        spent = {name: value - counts[name] for name, value in totals(metrics_url).items()}
        audio_s, span_s = meter.audio_s - audio_s, time.perf_counter() - began_s
        work.cancel()
    return {"streams": streams, "audio_s": audio_s, "span_s": span_s, "threads": threads, "engine": spent}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20.0)
    args = parser.parse_args()
    port = free_port()
    settings = {"LISTEN__METRICS_PORT": str(port), "ENGINE__SLOT_COUNT": str(max(32, args.streams))}
    with running_server(args.bundle, settings) as (target, pid):
        url = f"http://127.0.0.1:{port}/metrics"
        spent = asyncio.run(account(target, pid, url, args.streams, args.seconds))
    record("cpu_account", spent)
    print(_table(spent, load_manifest(args.bundle).audio.frame_rate_hz))


def _table(spent: dict[str, object], frame_rate_hz: float) -> str:
    threads, engine, audio_s, span_s = (spent[name] for name in ("threads", "engine", "audio_s", "span_s"))
    assert isinstance(threads, dict)
    assert isinstance(engine, dict)
    assert isinstance(audio_s, float)
    assert isinstance(span_s, float)
    frames = audio_s * frame_rate_hz
    lines = [f"{audio_s / span_s:.1f} s of speech a second", "", "| thread | cores | ms per frame | waits, cores |"]
    lines += ["|---|---|---|---|"]
    for name, times in sorted(threads.items(), key=lambda item: -item[1].busy_s):
        figures = times.busy_s / span_s, 1000 * times.busy_s / frames, times.waits_s / span_s
        row = f"| {name} | {figures[0]:.2f} | {figures[1]:.3f} | {figures[2]:.2f} |"
        lines += [row] if figures[0] > 0.002 else []
    steps, batches = engine["tts_step_seconds_count"], engine["tts_vocode_seconds_count"]
    lines += [
        "",
        f"{steps:.0f} steps of {engine['tts_batch_rows_sum'] / steps:.1f} rows in "
        f"{1000 * engine['tts_step_seconds_sum'] / steps:.1f} ms; {batches:.0f} batches of the vocoder of "
        f"{frames / batches:.1f} frames in {1000 * engine['tts_vocode_seconds_sum'] / batches:.1f} ms; "
        f"{engine['tts_prefill_seconds_count']:.0f} prefills, {engine['tts_prefill_seconds_sum']:.2f} s in all.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
