"""Writes the tables of docs/reference from the code they describe: `python docs/reference_tables.py`.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. A test fails when a page and the code differ.
"""

import ast
import dataclasses
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from antiphon.cli import app
from antiphon_client import errors as client_errors
from server import config, errors
from server.call_metrics import CallMetrics
from server.metrics import Metrics
from server.statuses import CODE_OF_ERROR
from trt_engines import manifest

REFERENCE = Path(__file__).parent / "reference"
_TABLE = re.compile(r"(<!-- table: (?P<name>[\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null"}


def main() -> None:
    """Rewrites every page that has a table."""
    for page in sorted(REFERENCE.glob("*.md")):
        page.write_text(filled_in(page.read_text(encoding="utf-8")), encoding="utf-8")


def filled_in(text: str) -> str:
    """The text of a page with all its tables as the code has them now."""
    return _TABLE.sub(lambda match: f"{match[1]}\n{_table(match['name'])}\n{match[3]}", text)


def _table(name: str) -> str:
    kind, _, argument = name.partition(".")
    return _TABLES[kind](argument)


def _settings(_: str) -> str:
    return "\n".join(_settings_of(section.name, section.type) for section in dataclasses.fields(config.Settings))


def _settings_of(section: str, kind: Any) -> str:  # noqa: ANN401 - dataclasses tell the type of a field as Any
    notes = _attribute_notes(kind)
    rows = [
        (f"`{field.name}`", f"`{json.dumps(field.default)}`", _range(field.metadata), notes.get(field.name, ""))
        for field in dataclasses.fields(kind)
    ]
    table = _markdown(("Key", "Default", "Range", "Meaning"), rows)
    return f"## `{section}`\n\n{inspect.getdoc(kind)}\n\n{table}"


def _commands(_: str) -> str:
    return "\n".join(_help(typer.main.get_command(app), None, "antiphon"))


def _help(command: Any, parent: Any, name: str) -> Iterator[str]:  # noqa: ANN401 - typer hides the types of its click
    context = command.context_class(command, parent=parent, info_name=name, terminal_width=100)
    children = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        yield f"## `{context.command_path}`\n\n```text\n{text}\n```\n"
    for child in children.values():
        yield from _help(child, context, child.name)


def _errors(_: str) -> str:
    rows = [
        (f"`{kind.reason}`", _status(kind), f"`{kind.__name__}`", _summary(kind))
        for kind in _subclasses(errors.AntiphonError)
    ]
    return _markdown(("Reason", "Status", "Class", "When"), rows)


def _client_errors(_: str) -> str:
    tree = (client_errors.__doc__ or "").partition("\n\n")[2]
    return f"```text\n{tree.strip()}\n```\n"


def _manifest(name: str) -> str:
    kind = getattr(manifest, name)
    rows = [(f"`{field.name}`", _form(field.type)) for field in dataclasses.fields(kind)]
    return f"{inspect.getdoc(kind)}\n\n{_markdown(('Field', 'Value'), rows)}"


def _metrics(_: str) -> str:
    registry = Metrics().registry
    CallMetrics(registry)
    rows = [
        (f"`{family.name}{'_total' if family.type == 'counter' else ''}`", family.type, family.documentation)
        for family in registry.collect()
    ]
    return _markdown(("Name", "Type", "Meaning"), rows)


def _attribute_notes(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a class, by field."""
    definition = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(definition, ast.ClassDef)
    notes = {}
    for field, note in pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(note, ast.Expr):
            notes[ast.unparse(field.target)] = inspect.cleandoc(ast.literal_eval(note.value)).replace("\n", " ")
    return notes


def _subclasses(kind: type[errors.AntiphonError]) -> Iterator[type[errors.AntiphonError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _status(kind: type[errors.AntiphonError]) -> str:
    return next(CODE_OF_ERROR[parent].name for parent in kind.__mro__ if parent in CODE_OF_ERROR)


def _summary(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _range(limits: Mapping[str, Any]) -> str:
    if "choices" in limits:
        return ", ".join(f"`{choice}`" for choice in limits["choices"])
    if "low" not in limits:
        return ""
    return f"from {limits['low']}" if limits["high"] == math.inf else f"{limits['low']} to {limits['high']}"


def _form(kind: object) -> str:
    """What a field of the manifest holds, in words."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return f"{_form(arguments[0])}, at least {arguments[1].at_least}"
    if origin is Literal:
        return " or ".join(f"`{json.dumps(choice)}`" for choice in arguments)
    if origin in (Union, UnionType):
        return " or ".join(_form(choice) for choice in arguments)
    if origin is tuple:
        return f"list of {_form(arguments[0])}"
    if origin is Mapping:
        return f"{_form(arguments[0])} → {_form(arguments[1])}"
    return _WORDS.get(kind, "object") if isinstance(kind, type) else "object"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


_TABLES: dict[str, Callable[[str], str]] = {
    "client_errors": _client_errors,
    "commands": _commands,
    "errors": _errors,
    "manifest": _manifest,
    "metrics": _metrics,
    "settings": _settings,
}


if __name__ == "__main__":
    main()
