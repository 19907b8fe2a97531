"""Plan directories: what is built, what is kept, what is refused."""

import dataclasses
from pathlib import Path

import pytest

from build_engines.tensorrt import build_plans as module
from build_engines.tensorrt.build_plans import build_plans
from build_engines.tensorrt.plan_builder import PlanBuilder
from build_engines.tensorrt.plan_options import PlanOptions, step_profiles
from build_engines.tiny import make_tiny_bundle
from trt_engines.cuda.driver import Gpu
from trt_engines.errors import BackendError, ManifestError
from trt_engines.manifest_loading import load_manifest
from trt_engines.tensorrt.flavor import Flavor
from trt_engines.tensorrt.plan_choice import choose_plans
from trt_engines.tensorrt.plan_manifest import PlanManifest, read_plan_manifest, write_plan_manifest

ADA = Gpu("Ada", (8, 9), 1, "00000000:01:00.0")
FLAVOR = Flavor("tensorrt-rtx", None, "1.7.1.116")
OPTIONS = PlanOptions("tensorrt-rtx", targets=("sm89",), slot_count=4, vocode_rows=2)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The tiny bundle."""
    make_tiny_bundle(tmp_path / "bundle")
    return tmp_path / "bundle"


@pytest.fixture(autouse=True)
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No compiler: a plan is the name of its graph. Tells which graphs were built."""
    names: list[str] = []

    def build(_builder: PlanBuilder, model: object, _profiles: object) -> bytes:
        names.append(model.graph.name)  # type: ignore[attr-defined] # an onnx.ModelProto
        return names[-1].encode()

    monkeypatch.setattr(PlanBuilder, "build", build)
    monkeypatch.setattr(module, "load_flavor", lambda _name: FLAVOR)
    return names


def _build(bundle: Path, plans_dir: Path, options: PlanOptions = OPTIONS) -> tuple[PlanManifest, list[str]]:
    lines: list[str] = []
    return build_plans(bundle, plans_dir, options, lines.append), lines


def test_the_manifest_says_how_the_plans_were_made(bundle: Path, tmp_path: Path) -> None:
    """Backend, version, GPU, precision, flags, shapes and hashes are there, and are read back."""
    options = dataclasses.replace(OPTIONS, is_hardware_compatible=True)
    plans, _ = _build(bundle, tmp_path, options)
    assert ("tensorrt-rtx", "1.7.1.116", ("sm89",), "float16") == (
        plans.flavor,
        plans.version,
        plans.architectures,
        plans.precision,
    )
    assert ("AMPERE_PLUS",) == plans.build_flags
    assert step_profiles(4) == plans.step.profiles
    assert plans == read_plan_manifest(tmp_path / "tensorrt-rtx-sm89")


def test_nothing_is_built_twice(bundle: Path, tmp_path: Path, builds: list[str]) -> None:
    """A second build keeps every plan and says so."""
    first, _ = _build(bundle, tmp_path)
    second, lines = _build(bundle, tmp_path)
    assert ["prefill", "step", "vocode"] == builds
    assert first == second
    assert "step: step.plan is up to date" in lines


def test_only_what_changed_is_built_again(bundle: Path, tmp_path: Path, builds: list[str]) -> None:
    """More slots concern the step alone; a damaged plan is made anew."""
    _build(bundle, tmp_path)
    builds.clear()
    _build(bundle, tmp_path, dataclasses.replace(OPTIONS, slot_count=8))
    assert ["step"] == builds
    builds.clear()
    (tmp_path / "tensorrt-rtx-sm89" / "vocode.plan").write_bytes(b"damaged")
    _build(bundle, tmp_path, dataclasses.replace(OPTIONS, slot_count=8))
    assert ["vocode"] == builds


def test_fitting_plans_are_found(bundle: Path, tmp_path: Path) -> None:
    """The directory for this GPU is chosen among several."""
    for target in ("sm80", "sm89"):
        _build(bundle, tmp_path, dataclasses.replace(OPTIONS, targets=(target,)))
    directory, plans = choose_plans(bundle, tmp_path, load_manifest(bundle), FLAVOR, ADA)
    assert ("tensorrt-rtx-sm89", ("sm89",)) == (directory.name, plans.architectures)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("architectures", ("sm80",), "built for sm80"),
        ("version", "1.6.0.1", "built by tensorrt-rtx 1.6.0.1, and 1.7.1.116 is installed"),
        ("bundle_id", "other", "built for the bundle 'other', not 'antiphon-tiny'"),
    ],
)
def test_other_plans_are_refused_with_the_command_that_builds_them(
    field: str, value: object, reason: str, bundle: Path, tmp_path: Path
) -> None:
    """Plans for another GPU, version or bundle are named, and so is what to run."""
    plans, _ = _build(bundle, tmp_path)
    write_plan_manifest(dataclasses.replace(plans, **{field: value}), tmp_path / "tensorrt-rtx-sm89")
    with pytest.raises(BackendError) as raised:
        choose_plans(bundle, tmp_path, load_manifest(bundle), FLAVOR, ADA)
    assert reason in str(raised.value)
    assert f"antiphon build-engines {bundle} --backend tensorrt-rtx --plans {tmp_path}" in str(raised.value)


def test_changed_graphs_and_damaged_plans_are_refused(bundle: Path, tmp_path: Path) -> None:
    """A plan must come from the bundle's graph, and be the file that was built."""
    _build(bundle, tmp_path)
    (tmp_path / "tensorrt-rtx-sm89" / "step.plan").write_bytes(b"damaged")
    with pytest.raises(BackendError, match=r"step\.plan is missing or was changed"):
        choose_plans(bundle, tmp_path, load_manifest(bundle), FLAVOR, ADA)
    other = make_tiny_bundle(tmp_path / "other", seed=5)
    with pytest.raises(BackendError, match=r"built from another graphs/prefill\.onnx than the bundle's"):
        choose_plans(tmp_path / "other", tmp_path, other, FLAVOR, ADA)


def test_compatible_plans_are_taken(bundle: Path, tmp_path: Path) -> None:
    """AMPERE_PLUS fits a later GPU, VERSION_COMPATIBLE a later version of the same line."""
    options = dataclasses.replace(OPTIONS, targets=("sm80",), is_hardware_compatible=True, is_version_compatible=True)
    _build(bundle, tmp_path, options)
    later = dataclasses.replace(FLAVOR, version="1.8.0.1")
    _, plans = choose_plans(bundle, tmp_path, load_manifest(bundle), later, ADA)
    assert ("AMPERE_PLUS",) == plans.build_flags[1:]
    with pytest.raises(BackendError, match=r"and 2\.0\.0\.1 is installed"):
        choose_plans(bundle, tmp_path, load_manifest(bundle), dataclasses.replace(FLAVOR, version="2.0.0.1"), ADA)


def test_tensorrt_builds_for_its_own_gpu_only(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a target for plain TensorRT is refused with the two ways out."""
    monkeypatch.setattr(module, "load_flavor", lambda _name: Flavor("tensorrt", None, "11.4.0.106"))
    with pytest.raises(BackendError, match=r"not for sm89. Leave --target out, or use --backend tensorrt-rtx"):
        _build(bundle, tmp_path, dataclasses.replace(OPTIONS, flavor="tensorrt"))


def test_a_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    """The sentence says what to delete."""
    (tmp_path / "manifest.json").write_text('{"schema_version": 1}')
    with pytest.raises(ManifestError, match=r"`schema_version` is 1 but .* Delete .* and build the plans again"):
        read_plan_manifest(tmp_path)
