"""The habits of CONTRIBUTING.md that a machine can check and no linter does."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
CODE_FOLDERS = (
    "antiphon",
    "benchmarks",
    "build_engines",
    "clients",
    "docs",
    "server",
    "tests",
    "training",
    "trt_engines",
)
FILE_LINES = 300
FUNCTION_LINES = 50
MEDIAN_FUNCTION_LINES = 8
NAMES_THAT_SAY_NOTHING = {"common", "helper", "helpers", "lib", "manager", "misc", "shared", "tools", "util", "utils"}

CODE_FILES = sorted(path for folder in CODE_FOLDERS for path in (ROOT / folder).glob("**/*.py"))
SOURCE_FILES = [path for path in CODE_FILES if not path.is_relative_to(ROOT / "tests")]


def name_of(path: Path) -> str:
    """The path as a reader would write it, for test ids and messages."""
    return str(path.relative_to(ROOT))


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def line_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


@pytest.mark.parametrize("path", CODE_FILES, ids=name_of)
def test_files_stay_readable(path: Path) -> None:
    """A file of code has at most 300 lines, and a function in it at most 50."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    sizes = {node.name: line_count(node) for node in functions_of(path)}

    assert lines <= FILE_LINES
    assert {} == {name: size for name, size in sizes.items() if size > FUNCTION_LINES}


def test_functions_are_small_on_purpose() -> None:
    """Half of all functions outside the tests have at most 8 lines."""
    lines = [line_count(node) for path in SOURCE_FILES for node in functions_of(path)]

    assert median(lines) <= MEDIAN_FUNCTION_LINES


def test_file_names_say_what_is_inside() -> None:
    """No file or folder is called utils, helpers, common and the like."""
    named = {part: name_of(path) for path in CODE_FILES for part in (path.stem, *path.relative_to(ROOT).parts[:-1])}

    assert {} == {part: name for part, name in named.items() if part in NAMES_THAT_SAY_NOTHING}


@pytest.mark.parametrize("path", [path for path in CODE_FILES if path.name == "__init__.py"], ids=name_of)
def test_packages_open_with_a_docstring_only(path: Path) -> None:
    """An `__init__.py` says what the package is for and does nothing."""
    body = ast.parse(path.read_text(encoding="utf-8")).body

    assert 1 == len(body)
    assert isinstance(body[0], ast.Expr)
    assert isinstance(body[0].value, ast.Constant)


def test_namespaces_stay_namespaces() -> None:
    """`antiphon` lies in two places and `proto` is another project's name, so neither may have an `__init__.py`."""
    forbidden = ("antiphon", "proto", "proto/gen", "proto/gen/antiphon", "tests")

    assert [] == [folder for folder in forbidden if (ROOT / folder / "__init__.py").exists()]


def test_version_is_the_top_of_the_changelog() -> None:
    """The version in pyproject.toml is the newest one that CHANGELOG.md describes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    headings = re.findall(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert project["version"] == headings[0]


def test_generated_code_is_fresh() -> None:
    """The committed code of the contract is what its .proto files generate."""
    plugins = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, ROOT / "proto" / "generate.py", "--check"]
    check = subprocess.run(command, env=plugins, capture_output=True, text=True, check=False)

    assert (0, "") == (check.returncode, check.stderr)


def test_servers_need_no_torch() -> None:
    """Importing the command line and the server's application loads neither torch nor onnx."""
    program = "import antiphon.__main__, server.app, sys; print([m for m in ('torch', 'onnx') if m in sys.modules])"
    paths = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in (".", "clients", "proto/gen")),
    }
    imported = subprocess.run([sys.executable, "-c", program], env=paths, capture_output=True, text=True, check=True)

    assert "[]" == imported.stdout.strip()
