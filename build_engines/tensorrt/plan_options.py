"""What a build may choose."""

import math
from dataclasses import dataclass

from trt_engines.manifest import ReferenceSpec
from trt_engines.tensorrt.buckets import row_buckets
from trt_engines.tensorrt.flavor import FlavorName
from trt_engines.tensorrt.plan_manifest import PlanProfile, Precision

_SHORT_PREFILL_ROWS = 16


@dataclass(frozen=True)
class PlanOptions:
    """Everything about a build that is not in the bundle.

    Attributes:
        flavor: the package that builds, and will run, the plans.
        targets: GPU architectures, `sm89`; empty for the GPU of this machine. Only TensorRT-RTX builds for others.
        precision: of weights, activations and caches.
        slot_count: slots that are stepped together, the largest batch bucket.
        vocode_rows: items that are vocoded together.
        max_positions: length of a cache; None for the bundle's own.
        optimization_level: TensorRT's 0 to 5; higher builds longer.
        is_hardware_compatible: make plans that run on every GPU since Ampere, more slowly.
        is_version_compatible: make plans that later versions of the same line read.
        workspace_bytes: limit of scratch memory; None for TensorRT's own.
    """

    flavor: FlavorName
    targets: tuple[str, ...] = ()
    precision: Precision = "float16"
    slot_count: int = 32
    vocode_rows: int = 32
    max_positions: int | None = None
    optimization_level: int = 3
    is_hardware_compatible: bool = False
    is_version_compatible: bool = False
    workspace_bytes: int | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """The names that go into the plan manifest."""
        chosen = []
        if self.is_version_compatible:
            chosen.append("VERSION_COMPATIBLE")
        if self.is_hardware_compatible:
            chosen.append("AMPERE_PLUS")
        return tuple(chosen)


def step_profiles(slot_count: int) -> tuple[PlanProfile, ...]:
    """One profile per batch bucket."""
    return tuple(PlanProfile(rows, 1) for rows in row_buckets(slot_count))


def prefill_profiles(chunk_rows: int) -> tuple[PlanProfile, ...]:
    """One slot at a time: a short chunk and a whole one."""
    lengths = sorted({min(_SHORT_PREFILL_ROWS, chunk_rows), chunk_rows})
    return tuple(PlanProfile(1, length) for length in lengths)


def encode_profile(reference: ReferenceSpec) -> PlanProfile:
    """One reference at a time, of any length that the voice takes."""
    shortest, longest = (seconds * reference.sample_rate_hz for seconds in (reference.min_s, reference.max_s))
    return PlanProfile(1, math.floor(longest), max(1, math.ceil(shortest)))


def vocode_profiles(vocode_rows: int, frame_counts: tuple[int, ...]) -> tuple[PlanProfile, ...]:
    """Every batch bucket with every number of frames."""
    return tuple(PlanProfile(rows, frames) for rows in row_buckets(vocode_rows) for frames in sorted(set(frame_counts)))
