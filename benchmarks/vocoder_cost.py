"""Processor time of a vocoder graph per frame, by frames of a call and streams, beside the floor; and what it goes to.

    OMP_NUM_THREADS=1 python -m benchmarks.vocoder_cost voices/default
    git archive COMMIT voices/default | tar x -C build/before --strip-components=2
    OMP_NUM_THREADS=1 python -m benchmarks.vocoder_cost voices/default --beside build/before   # in turn, and compared

Times are the processor time of the one thread that runs, and of several rounds the least, so that others on the machine
count only as far as they push the weights out of the caches. The floor of a call is the longer of two times: reading
every matrix once, and doing all multiplications of matrix products at the rate of a large one.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.record import record
from benchmarks.vocoder_calls import PRODUCT_SIZE, VocoderCalls, dot_product, least_cpu_s, matrix_product
from benchmarks.vocoder_profile import VocoderProfile
from build_engines.selftest.spoken_prompts import SpokenPrompts
from build_engines.verification.graph_runner import GraphRunner
from build_engines.verification.vocoder_parity import VocoderDriver
from trt_engines.engine_options import EngineOptions
from trt_engines.load import load_engine
from trt_engines.manifest_loading import load_manifest

STREAMS = (1, 4, 16)
FRAMES = (1, 2, 4, 8, 16)
PROFILED = ((1, 2), (4, 8))
UTTERANCES, LONGEST_FRAMES = 4, 160


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--beside", type=Path, help="another bundle, to be measured in turn")
    options = parser.parse_args()
    bundles = [options.bundle, *([options.beside] if options.beside else [])]
    calls = [VocoderCalls(bundle) for bundle in bundles]
    profiles = {bundle.name: [VocoderProfile.of(bundle, *case) for case in PROFILED] for bundle in bundles}
    data = {
        "machine": _machine(),
        "ms_per_frame": _times(calls, profiles[bundles[0].name][0]),
        "profiles": {name: [profile.told() for profile in found] for name, found in profiles.items()},
    }
    if options.beside:
        data["difference"] = difference(bundles)
    record("vocoder_cost", data)
    print(data["profiles"], data.get("difference", ""), sep="\n")


def _machine() -> dict[str, float]:
    """Return what one thread reads and multiplies: GB/s over 24 MB, GFLOP/s of a large product."""
    byte_count = 24 << 20
    read_s, multiply_s = least_cpu_s([dot_product(byte_count), matrix_product()])
    return {"gb_per_s": byte_count / read_s / 1e9, "gflop_per_s": 2 * PRODUCT_SIZE**3 / multiply_s / 1e9}


def _times(calls: Sequence[VocoderCalls], profile: VocoderProfile) -> list[dict[str, object]]:
    machine, rows = _machine(), list[dict[str, object]]()
    print("streams  frames  floor  ms a frame")
    for streams in STREAMS:
        for frames in FRAMES:
            taken = least_cpu_s([call.work(streams, frames) for call in calls])
            count = streams * frames
            floor_ms = max(
                profile.matrix_bytes / machine["gb_per_s"] / 1e6,
                count * 2 * profile.macs_per_frame / machine["gflop_per_s"] / 1e6,
            )
            per_frame = {call.name: round(taken_s * 1e3 / count, 3) for call, taken_s in zip(calls, taken, strict=True)}
            rows.append({"streams": streams, "frames": frames, "floor": round(floor_ms / count, 3), **per_frame})
            print(f"{streams:7d} {frames:7d} {floor_ms / count:6.3f}  ", *per_frame.values())
    return rows


def difference(bundles: Sequence[Path]) -> dict[str, float]:
    """Speak with the first bundle's talker; return the largest difference of the samples, and the largest sample."""
    codes = _spoken(bundles[0])
    first, second = (_driver(bundle).stream(codes, range(len(codes)), 8) for bundle in bundles)
    apart = max(float(np.abs(one - other).max()) for one, other in zip(first, second, strict=True))
    return {
        "seconds": sum(map(len, first)) / load_manifest(bundles[0]).audio.sample_rate_hz,
        "largest_difference": apart,
        "largest_sample": max(float(np.abs(samples).max()) for samples in first),
    }


def _spoken(bundle: Path) -> list[np.ndarray[tuple[int, int], np.dtype[np.int32]]]:
    engine = load_engine(bundle, EngineOptions(UTTERANCES, 1))
    prompts = SpokenPrompts.load(bundle, engine.manifest)
    slots = list(range(UTTERANCES))
    for slot in slots:
        prompts.prefill(engine.talker, slot)
    steps = [prompts.step(engine.talker, slots, slots, index) for index in range(LONGEST_FRAMES)]
    engine.close()
    spoken = []
    for slot in slots:
        done = next((index for index, frames in enumerate(steps) if frames[slot].done), LONGEST_FRAMES)
        spoken.append(np.stack([frames[slot].frame for frames in steps[: max(1, done)]]))
    return spoken


def _driver(bundle: Path) -> VocoderDriver:
    manifest = load_manifest(bundle)
    return VocoderDriver.of(GraphRunner(bundle / manifest.vocode.graph), manifest)


if __name__ == "__main__":
    main()
