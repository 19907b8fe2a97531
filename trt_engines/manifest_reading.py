"""Parsed JSON to frozen dataclasses, strictly: the type annotations of a dataclass are the schema.

Understands bool, int, float, str, Literal, `| None`, tuple[X, ...], Mapping[str, X], nested dataclasses and numbers
`Annotated` with `Bounds`. Anything that does not fit raises a `ManifestError` naming file, field, value and remedy.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from trt_engines.errors import ManifestError
from trt_engines.manifest_bounds import Bounds

T = TypeVar("T")

_REBUILD = "Correct it, or rebuild the bundle with `python -m build_engines`."
_NAMES = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a string"}


def dataclass_from_json(kind: type[T], value: object, file: Path) -> T:
    """Read a parsed JSON object as a dataclass.

    Args:
        kind: The dataclass.
        value: What `json.loads` gave.
        file: Where it came from, for the error.

    Raises:
        ManifestError: A key is unknown or missing, or a value has the wrong type or is out of bounds.
    """
    return typing.cast("T", _Reader(file).read(kind, value, ""))


@dataclasses.dataclass(frozen=True)
class _Reader:
    """Carries the file name through the recursion."""

    file: Path

    def read(self, kind: Any, value: object, field: str) -> Any:  # noqa: ANN401  (a type annotation, and what it describes)
        """Read one value of any supported kind."""
        origin = get_origin(kind)
        if origin is Annotated:
            return self._bounded(kind, value, field)
        if origin in (Union, types.UnionType):
            inner = next(choice for choice in get_args(kind) if choice is not types.NoneType)
            return None if value is None else self.read(inner, value, field)
        if origin is Literal:
            return self._choice(get_args(kind), value, field)
        if origin is tuple:
            items = self._instance(list, value, field, "a list")
            return tuple(self.read(get_args(kind)[0], item, f"{field}[{i}]") for i, item in enumerate(items))
        if origin is Mapping:
            entries = self._instance(dict, value, field, "an object")
            return {key: self.read(get_args(kind)[1], item, f"{field}[{key!r}]") for key, item in entries.items()}
        if dataclasses.is_dataclass(kind):
            return self._dataclass(kind, value, field)
        return self._scalar(kind, value, field)

    def _dataclass(self, kind: Any, value: object, field: str) -> object:  # noqa: ANN401  (any dataclass type)
        entries = self._instance(dict, value, field or "the whole file", "an object")
        hints = typing.get_type_hints(kind, include_extras=True)
        prefix = f"{field}." if field else ""
        for key in entries:
            if key not in hints:
                near = difflib.get_close_matches(key, hints, 1)
                meant = f"Did you mean `{near[0]}`? " if near else ""
                known = ", ".join(hints)
                raise self._error(f"`{prefix}{key}` is not a known key. {meant}Remove it; the known keys are: {known}.")
        optional = {item.name for item in dataclasses.fields(kind) if item.default is not dataclasses.MISSING}
        for key in hints:
            if key not in entries and key not in optional:
                raise self._error(f"`{prefix}{key}` is missing. Add it, or rebuild the bundle.")
        return kind(**{key: self.read(hints[key], value, prefix + key) for key, value in entries.items()})

    def _bounded(self, kind: Any, value: object, field: str) -> object:  # noqa: ANN401  (an Annotated type)
        inner, *notes = get_args(kind)
        result = self.read(inner, value, field)
        for note in notes:
            limit = note.violation(result) if isinstance(note, Bounds) else None
            if limit is not None:
                raise self._error(f"`{field}` is {value!r} but {limit}. {_REBUILD}")
        return result

    def _choice(self, choices: tuple[object, ...], value: object, field: str) -> object:
        if value not in choices:
            known = ", ".join(map(repr, choices))
            raise self._error(f"`{field}` is {value!r} but must be one of {known}. {_REBUILD}")
        return value

    def _scalar(self, kind: type, value: object, field: str) -> object:
        accepted = (int, float) if kind is float else (kind,)
        # True is an int in Python, not in JSON.
        fits = isinstance(value, accepted) and (kind is bool or not isinstance(value, bool))
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            raise self._error(f"`{field}` is {value!r} but must be {_NAMES[kind]}. {_REBUILD}")
        return float(value) if kind is float else value  # type: ignore[arg-type]  # a number, by the check above

    def _instance(self, kind: type[T], value: object, field: str, name: str) -> T:
        if not isinstance(value, kind):
            raise self._error(f"`{field}` is {value!r} but must be {name}. {_REBUILD}")
        return value

    def _error(self, sentence: str) -> ManifestError:
        return ManifestError(f"{self.file}: {sentence}")
