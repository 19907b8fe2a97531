"""Throughput of continuous batching beside static batches and one utterance at a time, in one run on one server.

    python -m benchmarks.batching voices/default --streams 16

All three speak the same utterances as fast as they can (nothing is paced). A static batch begins when the one before
has wholly finished. Rounds take turns, so that a busy machine is busy for all. Writes
 `benchmarks/results/batching.json`.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np

from antiphon_client.aio import AsyncClient
from antiphon_client.options import SpeechOptions
from benchmarks.listening import Listening, listen
from benchmarks.record import record
from benchmarks.server_process import running_server

TEXTS = Path("training/data/eval_sentences.txt").read_text().splitlines()
UNPACED = SpeechOptions(seed=1, max_lead_s=3600.0)
Say = Callable[[str], Awaitable[Listening]]


async def one_at_a_time(say: Say, texts: list[str], _: int) -> list[Listening]:
    """Speak each text when the one before has ended."""
    return [await say(text) for text in texts]


async def static_batches(say: Say, texts: list[str], streams: int) -> list[Listening]:
    """Speak `streams` texts together, and the next ones when all of them have ended."""
    heard: list[Listening] = []
    for first in range(0, len(texts), streams):
        heard += await asyncio.gather(*map(say, texts[first : first + streams]))
    return heard


async def continuous(say: Say, texts: list[str], streams: int) -> list[Listening]:
    """Keep `streams` texts in work: a new one begins as soon as any has ended."""
    waiting = list(reversed(texts))

    async def work() -> list[Listening]:
        return [await say(waiting.pop()) for _ in iter(lambda: bool(waiting), False)]

    return [item for items in await asyncio.gather(*(work() for _ in range(streams))) for item in items]


POLICIES = {"one at a time": one_at_a_time, "static batches": static_batches, "continuous": continuous}


async def measure(target: str, streams: int, rounds: int) -> dict[str, float]:
    """Return seconds of speech per second for each policy: the median of the rounds."""
    texts = (TEXTS * 4)[: 4 * streams]
    speeds: dict[str, list[float]] = {name: [] for name in POLICIES}
    async with AsyncClient(target) as client:

        async def say(text: str) -> Listening:
            heard = await listen(client, text, UNPACED)
            if heard.error:
                raise RuntimeError(f"An utterance ended with {heard.error}; the server must take {streams} at once.")
            return heard

        await continuous(say, texts[:streams], streams)
        for _ in range(rounds):
            for name, policy in POLICIES.items():
                began_s = time.perf_counter()
                heard = await policy(say, texts, streams)
                speeds[name].append(sum(item.audio_s for item in heard) / (time.perf_counter() - began_s))
    return {name: float(np.median(values)) for name, values in speeds.items()}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with running_server(args.bundle, {"ENGINE__SLOT_COUNT": str(max(32, args.streams))}) as (target, _):
        speeds = asyncio.run(measure(target, args.streams, args.rounds))
    record("batching", {"streams": args.streams, "audio_s_per_s": speeds})
    print("| policy | seconds of speech per second | times one at a time |\n|---|---|---|")
    for name, speed in speeds.items():
        print(f"| {name} | {speed:.1f} | {speed / speeds['one at a time']:.2f} |")


if __name__ == "__main__":
    main()
