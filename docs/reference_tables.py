"""Writes the tables of docs/reference from the code they describe: `python docs/reference_tables.py`.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. A test fails when the page and the code differ.
"""

import ast
import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from server import config, errors
from trt_engines import manifest

REFERENCE = Path(__file__).parent / "reference"
_TABLE = re.compile(r"(<!-- table: (?P<name>[\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)


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


def _settings(section: str) -> str:
    kind = {field.name: field.type for field in dataclasses.fields(config.Settings)}[section]
    notes = attribute_notes(kind)
    rows = []
    for field in dataclasses.fields(kind):
        rows.append((f"`{field.name}`", _value(field.default), _range(field.metadata), notes.get(field.name, "")))
    return _markdown(("Key", "Default", "Range", "Meaning"), rows)


def _errors(_: str) -> str:
    rows = []
    for kind in _subclasses(errors.AntiphonError):
        rows.append((f"`{kind.reason}`", f"`{kind.__name__}`", (inspect.getdoc(kind) or "").partition("\n")[0]))
    return _markdown(("Reason", "Class", "When"), rows)


def _manifest(name: str) -> str:
    kind = getattr(manifest, name)
    rows = [(f"`{field.name}`", f"`{_annotation(field.type)}`") for field in dataclasses.fields(kind)]
    return _markdown(("Field", "Type"), rows)


def attribute_notes(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a class, by field."""
    notes = {}
    body = ast.parse(inspect.getsource(kind)).body[0].body  # type: ignore[attr-defined]
    for field, note in zip(body, body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant):
            notes[ast.unparse(field.target)] = inspect.cleandoc(note.value.value).replace("\n", " ")
    return notes


def _subclasses(kind: type[errors.AntiphonError]) -> Iterator[type[errors.AntiphonError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _value(value: object) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value!r}`".replace("'", '"')


def _range(limits: dict[str, object]) -> str:
    if "choices" in limits:
        return ", ".join(f"`{choice}`" for choice in limits["choices"])
    if "low" not in limits:
        return ""
    return f"from {limits['low']}" if limits["high"] == math.inf else f"{limits['low']} to {limits['high']}"


def _annotation(kind: object) -> str:
    return str(getattr(kind, "__name__", kind)).replace("typing.", "")


def _markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


_TABLES: dict[str, Callable[[str], str]] = {"settings": _settings, "errors": _errors, "manifest": _manifest}


if __name__ == "__main__":
    main()
