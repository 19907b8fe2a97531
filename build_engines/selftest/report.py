"""Writes what was found, once for programs and once for people."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from build_engines.selftest.finding import Finding


def write_report(directory: Path, machine: Mapping[str, str], findings: Sequence[Finding]) -> tuple[Path, Path]:
    """Write `selftest.json` and `selftest.md`; return both paths."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = [{**dataclasses.asdict(finding), "is_good": finding.is_good} for finding in findings]
    json_file, markdown_file = directory / "selftest.json", directory / "selftest.md"
    json_file.write_text(json.dumps({"machine": dict(machine), "findings": rows}, indent=2) + "\n", encoding="utf-8")
    markdown_file.write_text(markdown(machine, findings), encoding="utf-8")
    return json_file, markdown_file


def markdown(machine: Mapping[str, str], findings: Sequence[Finding]) -> str:
    """Return the report as Markdown."""
    failed = [finding.name for finding in findings if not finding.is_good]
    verdict = f"**Failed:** {', '.join(failed)}." if failed else "Everything that has a limit keeps it."
    facts = [f"- {name}: {value}" for name, value in machine.items()]
    table = [f"| {item.name} | {item.value:.4g} {item.unit} | {_limit(item)} |" for item in findings]
    lines = ["# Self-test", "", *facts, "", verdict, "", "| what | found | limit |", "| --- | --- | --- |", *table, ""]
    return "\n".join(lines)


def _limit(finding: Finding) -> str:
    if finding.limit is None:
        return ""
    return f"{finding.bound} {finding.limit:g}{'' if finding.is_good else ' (**failed**)'}"
