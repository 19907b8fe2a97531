"""The `manifest.json` beside TensorRT plans: from which graphs, for which GPU, by which version they were built."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trt_engines.errors import ManifestError
from trt_engines.manifest import Manifest, Positive
from trt_engines.manifest_reading import dataclass_from_json
from trt_engines.tensorrt.flavor import FlavorName

PLAN_SCHEMA_VERSION = 2
PLAN_MANIFEST_NAME = "manifest.json"

Precision = Literal["float16", "float32"]


@dataclass(frozen=True)
class PlanProfile:
    """One optimization profile of a plan: the shape it was built for, and no other unless `least_steps` says so.

    Attributes:
        rows: batch rows.
        steps: prompt rows of prefill, frames of vocode or samples of encode in each batch row; 1 for step.
        least_steps: the fewest it was built for as well, or None for `steps` alone.
    """

    rows: Positive
    steps: Positive
    least_steps: Positive | None = None


@dataclass(frozen=True)
class PlanFile:
    """One plan.

    Attributes:
        file: its name beside the manifest.
        sha256: its hash.
        byte_count: its size.
        graph_sha256: hash of the bundle's graph that it was built from.
        build_key: hash of everything that decides the plan; equal means that nothing needs building.
        build_s: how long the build took.
        profiles: in the order of TensorRT's profile indices.
    """

    file: str
    sha256: str
    byte_count: Positive
    graph_sha256: str
    build_key: str
    build_s: float
    profiles: tuple[PlanProfile, ...]


@dataclass(frozen=True)
class PlanManifest:
    """What is true for all plans of a directory.

    Attributes:
        schema_version: of this file.
        bundle_id: of the bundle they were built from.
        flavor: the package that built and runs them.
        version: of that package.
        architectures: the GPUs they run on, `sm89`.
        precision: of weights, activations and caches.
        max_positions: length of the caches.
        build_flags: names of TensorRT's builder flags, and of the hardware compatibility level if one was set.
        prefill, step, vocode: the plans.
        encode: the plan of the graph that encodes reference audio, in a bundle that has one; always float32.
    """

    schema_version: int
    bundle_id: str
    flavor: FlavorName
    version: str
    architectures: tuple[str, ...]
    precision: Precision
    max_positions: Positive
    build_flags: tuple[str, ...]
    prefill: PlanFile
    step: PlanFile
    vocode: PlanFile
    encode: PlanFile | None

    @property
    def slot_count(self) -> int:
        """The most slots that the plans can step together."""
        return self.step.profiles[-1].rows

    @property
    def plans(self) -> dict[str, PlanFile]:
        """The plans by operation."""
        plans = {"prefill": self.prefill, "step": self.step, "vocode": self.vocode}
        return plans if self.encode is None else plans | {"encode": self.encode}


def graph_names(manifest: Manifest) -> dict[str, str]:
    """Return the bundle's graph of each operation that a plan is built for."""
    names = {"prefill": manifest.prefill.graph, "step": manifest.step.graph, "vocode": manifest.vocode.graph}
    return names if manifest.reference is None else names | {"encode": manifest.reference.graph}


def read_plan_manifest(directory: Path) -> PlanManifest:
    """Read the manifest of a plan directory.

    Raises:
        ManifestError: It is not valid, or of another version of this file's format.
    """
    file = directory / PLAN_MANIFEST_NAME
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ManifestError(
            f"{file} cannot be read as JSON: {error}. Delete {directory} and build the plans again."
        ) from error
    version = value.get("schema_version") if isinstance(value, dict) else None
    if version != PLAN_SCHEMA_VERSION:
        raise ManifestError(
            f"{file}: `schema_version` is {version!r} but this version of Antiphon reads {PLAN_SCHEMA_VERSION}. "
            f"Delete {directory} and build the plans again."
        )
    return dataclass_from_json(PlanManifest, value, file)


def write_plan_manifest(manifest: PlanManifest, directory: Path) -> None:
    """Write the manifest of a plan directory."""
    text = json.dumps(dataclasses.asdict(manifest), indent=2)
    (directory / PLAN_MANIFEST_NAME).write_text(f"{text}\n", encoding="utf-8")
