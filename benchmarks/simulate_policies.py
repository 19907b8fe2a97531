"""Compares policies for sharing one engine among many listeners, on virtual time: no model, no GPU, a few seconds.

    python -m benchmarks.simulate_policies --write

Costs are a fixed part per call and a part per row or frame: near what the default voice takes, near what a voice of 30
million parameters would, a vocoder at its limit, and assumed for a GPU. Arrivals are Poisson, an utterance is one to
four sentences, and a listener plays at once. All policies have the same chunk ramp and see the same arrivals; only
continuous ones refuse, when all slots are taken.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.policies import POLICIES
from benchmarks.virtual_engine import FRAME_S, Costs, Listener, arrivals

CPU = Costs("default voice, 2 CPU cores", (0.0022, 0.00014), (0.002, 0.00003), (0.001, 0.0004), 32)
LARGE = Costs("voice of 30M, 2 CPU cores", (0.0025, 0.0008), (0.002, 0.0001), (0.001, 0.0012), 32)
VOCODER = Costs("slow vocoder, 2 CPU cores", (0.004, 0.0006), (0.002, 0.0001), (0.006, 0.0013), 32)
GPU = Costs("one GPU (assumed costs)", (0.008, 0.00001), (0.004, 0.000002), (0.004, 0.000005), 1024)
LOADS = ((CPU, (1, 24)), (LARGE, (24,)), (VOCODER, (24,)), (GPU, (256, 1000)))
RESULTS = Path("benchmarks/results/policies.md")
_HEADER = (
    "| engine | streams | policy | TTFA p50 ms | p95 ms | without a gap % | silence per utterance ms "
    "| sent ahead p95 s | refused % |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def row(costs: Costs, streams: int, name: str, listeners: Sequence[Listener]) -> str:
    """Return one line of the table."""
    heard = [listener for listener in listeners if not listener.is_refused]
    ttfa_ms = 1000.0 * np.array([listener.ttfa_s for listener in heard])
    whole = np.mean([not listener.is_broken for listener in heard])
    silence_ms = 1000.0 * np.mean([listener.silence_s for listener in heard])
    refused = 1.0 - len(heard) / len(listeners)
    ahead_s = np.percentile([listener.most_ahead_s for listener in heard], 95)
    p50, p95 = np.percentile(ttfa_ms, [50, 95])
    return (
        f"| {costs.name} | {streams} | {name} | {p50:,.0f} | {p95:,.0f} | {100 * whole:.1f} | {silence_ms:,.0f} "
        f"| {ahead_s:.1f} | {100 * refused:.1f} |"
    )


def simulate(costs: Costs, streams: int, seconds: float, seed: int) -> dict[str, list[Listener]]:
    """Let the same people arrive under each policy, and return how they fared."""
    fared = {}
    for name, policy in POLICIES.items():
        listeners = arrivals(streams, seconds, seed)
        policy(costs, listeners)
        fared[name] = listeners
    return fared


def main() -> None:
    """Simulate all loads and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="virtual time in which people arrive (default 20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write the table to {RESULTS}")
    options = parser.parse_args()
    began_s = time.perf_counter()
    lines = [_HEADER]
    for costs, loads in LOADS:
        for streams in loads:
            fared = simulate(costs, streams, options.seconds, options.seed)
            lines += [row(costs, streams, name, listeners) for name, listeners in fared.items()]
    table = "\n".join(lines)
    print(table)
    print(
        f"\n{options.seconds:g} s of arrivals, frames of {1000 * FRAME_S:g} ms; {time.perf_counter() - began_s:.1f} s."
    )
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
