"""Writes the generated Python code of the contract: `python proto/generate.py`, or `--check` to compare only.

The code is generated with grpcio-tools 1.81.1 and committed, so that users need no compiler. That version writes code
for protobuf 6.33, which loads under protobuf 6.33.5 and later and under 7; newer compilers write code that does not
load under 6, which other packages still ask for.
"""

import argparse
import filecmp
import importlib.metadata
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

PROTO_DIR = Path(__file__).resolve().parent
TOOLS_VERSION = "1.81.1"


def main() -> None:
    """Generates, or with `--check` compares: then the exit code is 1 if the committed code differs."""
    parser = argparse.ArgumentParser(description="Generate the Python code of proto/antiphon.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the committed code differs")
    is_check = parser.parse_args().check
    installed = importlib.metadata.version("grpcio-tools")
    if installed != TOOLS_VERSION:
        sys.exit(f"grpcio-tools is {installed}; install grpcio-tools=={TOOLS_VERSION}, the code is generated with it.")
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        _generate(fresh)
        if is_check:
            _compare(fresh, PROTO_DIR / "gen")
        else:
            shutil.rmtree(PROTO_DIR / "gen", ignore_errors=True)
            shutil.copytree(fresh, PROTO_DIR / "gen")


def _generate(out_dir: Path) -> None:
    sources = sorted(str(path.relative_to(PROTO_DIR)) for path in PROTO_DIR.glob("antiphon/**/*.proto"))
    includes = [f"-I{PROTO_DIR}", f"-I{files('grpc_tools') / '_proto'}"]
    outputs = [f"--{kind}_out={out_dir}" for kind in ("python", "pyi", "grpc_python")]
    outputs.append(f"--mypy_grpc_out=quiet:{out_dir}")
    code = protoc.main(["protoc", *includes, *outputs, *sources])
    if code:
        sys.exit(f"protoc failed with exit code {code}; its messages are above.")
    for path in out_dir.glob("**/*_pb2_grpc.py*"):
        if "ServiceServicer" not in path.read_text():  # files without a service get an empty stub
            path.unlink()


def _compare(fresh: Path, committed: Path) -> None:
    names = {path.relative_to(root) for root in (fresh, committed) for path in root.glob("**/*.py*") if path.is_file()}
    names = {name for name in names if "__pycache__" not in name.parts}
    _, differing, missing = filecmp.cmpfiles(fresh, committed, map(str, names), shallow=False)
    if differing or missing:
        stale = ", ".join(sorted(differing + missing))
        sys.exit(f"Generated code differs from proto/antiphon: {stale}. Run `python proto/generate.py`.")


if __name__ == "__main__":
    main()
