"""Throughput of continuous batching beside static batches and one utterance at a time, in one run on one server.

    python -m benchmarks.batching voices/default --streams 16

Utterances are of one to four sentences, as people's are, the same for all three, and nothing is paced. A static batch
begins when the one before has wholly finished. One at a time has the same engine and threads, its talker and vocoder
work side by side as well, and a step of one row runs no idle row, so that a server of one slot would be no faster. What
is counted is the audio that arrives in a window of time while a policy is at it, so that none pays for its last
utterances. Rounds take turns, so that a busy machine is busy for all. Writes `benchmarks/results/batching.json`.
"""

import argparse
import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from antiphon_client.aio import AsyncClient
from antiphon_client.options import SpeechOptions
from benchmarks.record import record
from benchmarks.server_process import running_server

SENTENCES = Path("training/data/eval_sentences.txt").read_text("utf-8").splitlines()
MOST_SENTENCES = 4
UNPACED = SpeechOptions(seed=1, max_lead_s=3600.0)
WARM_UP_S = 3.0
Say = Callable[[str], Awaitable[None]]


async def one_at_a_time(say: Say, texts: Iterator[str], _: int) -> None:
    """Speak each text when the one before has ended, for ever."""
    for text in texts:
        await say(text)


async def static_batches(say: Say, texts: Iterator[str], streams: int) -> None:
    """Speak `streams` texts together, and the next ones when all of them have ended, for ever."""
    while True:
        await asyncio.gather(*(say(next(texts)) for _ in range(streams)))


async def continuous(say: Say, texts: Iterator[str], streams: int) -> None:
    """Keep `streams` texts in work, for ever: a new one begins as soon as any has ended."""
    await asyncio.gather(*(one_at_a_time(say, texts, 1) for _ in range(streams)))


POLICIES = {"one at a time": one_at_a_time, "static batches": static_batches, "continuous": continuous}


def utterances(seed: int) -> Iterator[str]:
    """Yield texts of one to four sentences for ever."""
    chance = random.Random(seed)
    while True:
        yield " ".join(chance.choices(SENTENCES, k=chance.randint(1, MOST_SENTENCES)))


class Meter:
    """Speaks texts on one connection, and counts the audio of all of them as it arrives."""

    def __init__(self, client: AsyncClient) -> None:
        self.audio_s = 0.0
        self._client = client

    async def say(self, text: str) -> None:
        """Speak a text to its end.

        Raises:
            AntiphonError: The server did not take it, or failed.
        """
        async for chunk in self._client.speak(text, UNPACED):
            self.audio_s += chunk.duration_s


async def speed(client: AsyncClient, policy: str, streams: int, seconds: float, seed: int) -> float:
    """Return seconds of speech per second of one policy, over `seconds` after it has got going."""
    meter = Meter(client)
    work = asyncio.ensure_future(POLICIES[policy](meter.say, utterances(seed), streams))
    try:
        await asyncio.wait([work], timeout=WARM_UP_S)
        began_s, before_s = time.perf_counter(), meter.audio_s
        await asyncio.wait([work], timeout=seconds)
        return (meter.audio_s - before_s) / (time.perf_counter() - began_s)
    finally:
        work.cancel()  # does nothing to one that has failed, whose error comes out below
        with suppress(asyncio.CancelledError):
            await work


async def measure(target: str, streams: int, rounds: int, seconds: float) -> dict[str, list[float]]:
    """Return the speed of each policy in each round."""
    speeds: dict[str, list[float]] = {name: [] for name in POLICIES}
    async with AsyncClient(target) as client:
        for seed, name in itertools.product(range(rounds), POLICIES):
            speeds[name].append(await speed(client, name, streams, seconds, seed))
            print(f"{name}: {speeds[name][-1]:.1f}", flush=True)
    return speeds


def main() -> None:
    """Measure and print a table of the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each policy in each round")
    args = parser.parse_args()
    with running_server(args.bundle, {"ENGINE__SLOT_COUNT": str(max(32, args.streams))}) as (target, _):
        rounds = asyncio.run(measure(target, args.streams, args.rounds, args.seconds))
    speeds = {name: float(np.median(values)) for name, values in rounds.items()}
    record("batching", {"streams": args.streams, "audio_s_per_s": speeds, "rounds": rounds})
    print("| policy | seconds of speech per second | times one at a time |\n|---|---|---|")
    for name, value in speeds.items():
        print(f"| {name} | {value:.1f} | {value / speeds['one at a time']:.2f} |")


if __name__ == "__main__":
    main()
