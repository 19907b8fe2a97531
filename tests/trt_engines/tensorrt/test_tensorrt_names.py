"""Every name of TensorRT's API in the source is one that the real bindings have.

`tests/data/tensorrt` holds what a program read off the bindings of TensorRT 11.4 and TensorRT-RTX 1.7. TensorRT's
objects have no types, so the source names them alike everywhere, and this table says what each name stands for.
"""

import ast
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FILES = sorted([*(ROOT / "trt_engines" / "tensorrt").glob("*.py"), *(ROOT / "build_engines" / "tensorrt").glob("*.py")])
CLASSES = {
    "builder": "Builder",
    "network": "INetworkDefinition",
    "parser": "OnnxParser",
    "config": "IBuilderConfig | IRuntimeConfig",
    "profile": "IOptimizationProfile | PlanProfile",
    "cache": "ITimingCache",
    "layer": "ILayer | IAttentionInputLayer | EngineLayer",
    "context": "IExecutionContext | PlanContext",
    "_context": "IExecutionContext",
    "_engine": "ICudaEngine",
    "_runtime": "Runtime",
}
OURS = {
    "PlanProfile": {"rows", "steps", "least_steps"},
    "PlanContext": {"run", "bind", "captured", "shape", "close"},
    "EngineLayer": {"inputs", "outputs"},
}
ONLY_RTX = {
    "ComputeCapability", "CudaGraphStrategy", "DynamicShapesKernelSpecializationStrategy", "REQUIRE_USER_ALLOCATION",
    "num_compute_capabilities", "set_compute_capability", "cuda_graph_strategy",
    "dynamic_shapes_kernel_specialization_strategy",
}  # fmt: skip
Names = dict[str, dict[str, list[str]]]


@pytest.fixture(params=["tensorrt_11_4_names.json", "tensorrt_rtx_1_7_names.json"])
def names(request: pytest.FixtureRequest) -> Names:
    """Classes of a package with their members and attributes."""
    known: Names = json.loads((ROOT / "tests" / "data" / "tensorrt" / request.param).read_text(encoding="utf-8"))
    return known


def _accesses() -> list[tuple[str, str, str]]:
    """Every `object.name` in the source, as file, object and name."""
    return [
        (path.name, owner, node.attr)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and (owner := _last_name(node.value)) is not None
    ]


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _has(names: Names, owner: str, name: str) -> bool:
    entry = names.get(owner, {})
    return isinstance(entry, dict) and name in [*entry.get("members", []), *entry.get("attrs", [])]


def test_every_class_of_the_api_exists(names: Names) -> None:
    """`api.X` is a class or an enumeration of the package, or one that only RTX has and only RTX is asked for."""
    used = {name for _, owner, name in _accesses() if owner == "api" and not name.startswith("__")}
    assert len(used) > 10
    is_rtx = "ComputeCapability" in names
    assert set() == {name for name in used if name not in names and (is_rtx or name not in ONLY_RTX)}


def test_every_member_of_an_enumeration_exists(names: Names) -> None:
    """`api.X.Y` is a member of X."""
    is_rtx = "ComputeCapability" in names
    used = {(owner, name) for _, owner, name in _accesses() if owner in names and not name.startswith("__")}
    assert len(used) > 10
    assert set() == {pair for pair in used if not _has(names, *pair) and (is_rtx or not ONLY_RTX & set(pair))}


def test_every_method_and_attribute_exists(names: Names) -> None:
    """What is called on a builder, an engine or a context is there, in both packages unless RTX alone is asked."""
    is_rtx = "ComputeCapability" in names
    unknown = []
    for file, owner, name in _accesses():
        if owner not in CLASSES or (name in ONLY_RTX and not is_rtx) or name.startswith("__"):
            continue
        kinds = CLASSES[owner].split(" | ")
        if not any(_has(names, kind, name) or name in OURS.get(kind, ()) for kind in kinds):
            unknown.append(f"{file}: {owner}.{name}")
    assert [] == unknown
