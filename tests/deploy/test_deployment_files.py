"""The files of deploy/ are well formed and name only what the server has."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from server.call_metrics import CallMetrics
from server.config import load_settings
from server.metrics import Metrics
from trt_engines.cuda.gpu_monitor import GpuMonitor

DEPLOY = Path(__file__).parents[2] / "deploy"
YAML_FILES = sorted(path for ending in ("yaml", "yml") for path in DEPLOY.glob(f"**/*.{ending}"))
DOCKERFILES = ["docker/cpu.Dockerfile", "docker/gpu.Dockerfile"]
_METRIC = re.compile(r"\b(?:tts|grpc_server)_[a-z_]+\b")


def documents(path: Path) -> list[Any]:
    """The documents of a YAML file."""
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def exposed_names() -> set[str]:
    """Every name under which the server exposes a metric."""
    metrics = Metrics()
    metrics.watch_gpu(cast("GpuMonitor", SimpleNamespace(memory_bytes=int, memory_used_bytes=int, utilization=int)))
    registry = metrics.registry
    CallMetrics(registry)
    endings = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
    return {f"{family.name}{ending}" for family in registry.collect() for ending in endings[family.type]}


def tool(name: str) -> str:
    """The path of a program, beside the interpreter or on the PATH; skips the test where there is none."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def output_of(command: Sequence[str | Path]) -> str:
    """What a command says; fails the test with it if the command fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_yaml_can_be_read(path: Path) -> None:
    """Every YAML file holds at least one document."""
    assert [document for document in documents(path) if document] != []


@pytest.mark.parametrize("name", ["prometheus/rules.yml", "prometheus/rules_test.yml", "grafana/antiphon.json"])
def test_only_metrics_that_exist_are_watched(name: str) -> None:
    """Rules and dashboard ask for metrics that the server exposes."""
    asked_for = set(_METRIC.findall((DEPLOY / name).read_text(encoding="utf-8")))

    assert asked_for - exposed_names() == set()
    assert asked_for != set()


def test_dashboard_panels_are_complete() -> None:
    """Every panel of the dashboard has a title, a unit and a query, and no two have one place."""
    panels = json.loads((DEPLOY / "grafana" / "antiphon.json").read_text(encoding="utf-8"))["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}

    assert len(panels) == len(places)
    assert all(panel["title"] and panel["fieldConfig"]["defaults"]["unit"] and panel["targets"] for panel in panels)


@pytest.mark.parametrize("name", ["docker/cpu.Dockerfile", "compose.yaml", "kubernetes/base/deployment.yaml"])
def test_settings_are_those_of_the_server(name: str) -> None:
    """Every variable that a deployment sets is a setting of the server."""
    names = set(re.findall(r"\bANTIPHON_[A-Z]+__[A-Z_]+", (DEPLOY / name).read_text(encoding="utf-8")))
    text = {"ANTIPHON_LISTEN__HOST", "ANTIPHON_ENGINE__BUNDLE_DIR"}

    assert names != set()
    load_settings(environment={key: "x" if key in text else "json" if "FORMAT" in key else "1" for key in names})


def test_pods_outlive_the_drain() -> None:
    """Kubernetes and compose wait longer for a stopping server than it may drain."""
    (deployment,) = documents(DEPLOY / "kubernetes" / "base" / "deployment.yaml")
    (compose,) = documents(DEPLOY / "compose.yaml")
    drain_timeout_s = load_settings().listen.drain_timeout_s

    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > drain_timeout_s
    assert float(compose["services"]["antiphon"]["stop_grace_period"].removesuffix("s")) > drain_timeout_s


@pytest.mark.parametrize("name", DOCKERFILES)
def test_images_copy_what_is_there(name: str) -> None:
    """Every path that a Dockerfile copies exists in the repository."""
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (DEPLOY / name).read_text(encoding="utf-8"), re.MULTILINE)
    paths = [path for line in copied for path in line.split()]

    assert [path for path in paths if not (DEPLOY.parent / path).exists()] == []


@pytest.mark.parametrize("name", DOCKERFILES)
def test_dockerfile_has_no_faults_that_hadolint_knows(name: str) -> None:
    """Each Dockerfile follows the rules of hadolint."""
    assert output_of([tool("hadolint"), DEPLOY / name]) == ""


def test_rules_do_what_they_say() -> None:
    """The unit tests of the alerts pass."""
    output_of([tool("promtool"), "test", "rules", DEPLOY / "prometheus" / "rules_test.yml"])


def test_kubernetes_files_add_up() -> None:
    """Kustomize builds the base: a deployment, a service, a disruption budget."""
    built = output_of([tool("kubectl"), "kustomize", DEPLOY / "kubernetes" / "base"])

    assert {part["kind"] for part in yaml.safe_load_all(built)} == {"Deployment", "Service", "PodDisruptionBudget"}
