"""Finding the plans that this GPU can run, or refusing them with the command that builds the right ones."""

from pathlib import Path

from trt_engines.cuda.driver import Gpu
from trt_engines.errors import BackendError
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import file_hash
from trt_engines.tensorrt.flavor import Flavor
from trt_engines.tensorrt.plan_manifest import PLAN_MANIFEST_NAME, PlanManifest, graph_names, read_plan_manifest

_AMPERE = 80


def build_command(bundle_dir: Path, plans_dir: Path, flavor: Flavor) -> str:
    """Return the command line that builds plans where they are looked for."""
    return f"antiphon build-engines {bundle_dir} --backend {flavor.name} --plans {plans_dir}"


def choose_plans(
    bundle_dir: Path, plans_dir: Path, manifest: Manifest, flavor: Flavor, gpu: Gpu
) -> tuple[Path, PlanManifest]:
    """Return the directory below `plans_dir` whose plans fit the bundle, the package and the GPU, and its manifest.

    Raises:
        BackendError: None fits; says what is wrong with each, and how to build one.
        ManifestError: A plan directory holds an unreadable manifest.
    """
    refusals = []
    for file in sorted(plans_dir.glob(f"{flavor.name}-*/{PLAN_MANIFEST_NAME}")):
        plans = read_plan_manifest(file.parent)
        if plans.flavor != flavor.name:
            continue
        refusal = _refusal(file.parent, plans, manifest, flavor, gpu)
        if refusal is None:
            return file.parent, plans
        refusals.append(f"{file.parent.name}: {refusal}")
    found = "; ".join(refusals) if refusals else "there is none"
    raise BackendError(
        f"No {flavor.name} plan in {plans_dir} runs on this {gpu.architecture} GPU ({found}). "
        f"Build one: {build_command(bundle_dir, plans_dir, flavor)}"
    )


def _refusal(directory: Path, plans: PlanManifest, manifest: Manifest, flavor: Flavor, gpu: Gpu) -> str | None:
    """Say why these plans cannot be used, or None."""
    if plans.bundle_id != manifest.id:
        return f"built for the bundle {plans.bundle_id!r}, not {manifest.id!r}"
    if not _runs_on(plans, gpu):
        return f"built for {', '.join(plans.architectures)}"
    if not _is_readable_by(plans, flavor.version):
        return f"built by {plans.flavor} {plans.version}, and {flavor.version} is installed"
    for operation, graph in graph_names(manifest).items():
        plan = plans.plans.get(operation)
        if plan is None or plan.graph_sha256 != manifest.hashes[graph]:
            return f"built from another {graph} than the bundle's"
        path = directory / plan.file
        if not path.exists() or file_hash(path) != plan.sha256:
            return f"{plan.file} is missing or was changed"
    return None


def _runs_on(plans: PlanManifest, gpu: Gpu) -> bool:
    """Whether the plans' code fits the GPU; a hardware compatible plan fits every one since Ampere."""
    if gpu.architecture in plans.architectures:
        return True
    major, minor = gpu.compute_capability
    return "AMPERE_PLUS" in plans.build_flags and 10 * major + minor >= _AMPERE


def _is_readable_by(plans: PlanManifest, version: str) -> bool:
    """Whether this version reads the plans: it built them, or they were made to be read by later ones of its line."""
    if plans.version == version:
        return True
    built, installed = ([int(part) for part in text.split(".")] for text in (plans.version, version))
    return "VERSION_COMPATIBLE" in plans.build_flags and built[0] == installed[0] and built <= installed
