"""Open-loop load over gRPC: Poisson arrivals of listeners, at as many streams on average as asked.

    python -m benchmarks.load voices/default --streams 1 2 4 8 16 24 32 --seconds 60

Arrivals do not wait for the server, so a server that falls behind is seen to. Every listener plays in real time. The
load generator runs on the same cores and its share is shown. Writes `benchmarks/results/load.json` and prints a table.
"""

import argparse
import asyncio
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from antiphon_client.aio import AsyncClient
from antiphon_client.options import SpeechOptions
from benchmarks.listening import Listening, listen, percentiles_ms
from benchmarks.record import record
from benchmarks.server_process import cpu_seconds, running_server

TEXTS = Path("training/data/eval_sentences.txt").read_text().splitlines()


@dataclass(frozen=True)
class LoadResult:
    """What listeners went through at one load.

    Attributes:
        streams: utterances in play on average, as asked.
        utterances, failed: heard to the end; ended by an error.
        mean_streams: utterances in play on average, as it was.
        first_audio_ms, first_sound_ms: percentiles 50, 95, 99.
        underruns: utterances with at least one gap.
        longest_gap_ms: over all utterances.
        server_cores, client_cores: processors in use on average.
    """

    streams: int
    utterances: int
    failed: int
    mean_streams: float
    first_audio_ms: list[float]
    first_sound_ms: list[float]
    underruns: int
    longest_gap_ms: float
    server_cores: float
    client_cores: float


async def offer(target: str, streams: int, seconds: float, mean_audio_s: float, seed: int) -> list[Listening]:
    """Let listeners arrive for `seconds` and wait until all have finished."""
    rng = np.random.default_rng(seed)
    options = SpeechOptions(seed=seed)
    async with AsyncClient(target) as client:
        tasks, ends_s = [], time.perf_counter() + seconds
        at_s = time.perf_counter()
        while at_s < ends_s:
            await asyncio.sleep(max(0.0, at_s - time.perf_counter()))
            tasks.append(asyncio.create_task(listen(client, str(rng.choice(TEXTS)), options)))
            at_s += rng.exponential(mean_audio_s / streams)
        return list(await asyncio.gather(*tasks))


async def mean_duration_s(target: str) -> float:
    """Return the mean length of the sentences' audio; warms the server up as well."""
    async with AsyncClient(target) as client:
        return float(np.mean([(await listen(client, text, SpeechOptions(seed=1))).audio_s for text in TEXTS]))


def summarize(heard: list[Listening], streams: int, span_s: float, cores: tuple[float, float]) -> LoadResult:
    """Boil one run down."""
    whole = [item for item in heard if not item.error]
    gaps = [gap for item in whole for gap in item.gaps_s]
    return LoadResult(
        streams,
        len(whole),
        len(heard) - len(whole),
        sum(item.audio_s for item in whole) / span_s,
        percentiles_ms([item.first_audio_s for item in whole if item.first_audio_s is not None]),
        percentiles_ms([item.first_sound_s for item in whole if item.first_sound_s is not None]),
        sum(bool(item.gaps_s) for item in whole),
        1000 * max(gaps, default=0.0),
        *cores,
    )


def table(results: list[LoadResult]) -> str:
    """Return the results as a Markdown table."""
    lines = [
        "| streams | utterances (failed) | first audio ms p50 / p95 / p99 | first sound ms p50 / p95 / p99 "
        "| with underruns | longest gap ms | cores: server + clients |",
        "|---|---|---|---|---|---|---|",
    ]
    for item in results:
        audio, sound = (
            " / ".join(f"{ms:.0f}" for ms in values) for values in (item.first_audio_ms, item.first_sound_ms)
        )
        lines.append(
            f"| {item.streams} | {item.utterances} ({item.failed}) | {audio} | {sound} | {item.underruns} "
            f"| {item.longest_gap_ms:.0f} | {item.server_cores:.2f} + {item.client_cores:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run all loads against one server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--slots", type=int, default=64)
    args = parser.parse_args()
    room = {"ENGINE__SLOT_COUNT": str(args.slots), "ADMISSION__MAX_UTTERANCES": str(args.slots)}
    results = []
    with running_server(args.bundle, room) as (target, pid):
        mean_audio_s = asyncio.run(mean_duration_s(target))
        for streams in args.streams:
            began_s, server_s, own_s = time.perf_counter(), cpu_seconds(pid), cpu_seconds(os.getpid())
            heard = asyncio.run(offer(target, streams, args.seconds, mean_audio_s, seed=streams))
            span_s = time.perf_counter() - began_s
            cores = (cpu_seconds(pid) - server_s) / span_s, (cpu_seconds(os.getpid()) - own_s) / span_s
            results.append(summarize(heard, streams, span_s, cores))
            print(table(results[-1:]).splitlines()[-1], flush=True)
    record("load", [asdict(item) for item in results])
    print(table(results))


if __name__ == "__main__":
    main()
