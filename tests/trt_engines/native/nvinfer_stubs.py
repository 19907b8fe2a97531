"""Makes the header that the nvinfer double stands on: TensorRT's inner classes with every function ending the process.

Versions of TensorRT differ in which functions these classes have, so the header is made of the one at hand.
"""

import re
from pathlib import Path

_CLASSES = {"VRuntime": "RuntimeStub", "VCudaEngine": "EngineStub", "VExecutionContext": "ContextStub"}
_FUNCTION = re.compile(r"virtual\s+([^;{}]*?\b(\w+)\([^;]*?)\s*=\s*0;", re.DOTALL)


def nvinfer_stubs(include: Path) -> str:
    """Return the header for the TensorRT in a folder."""
    source = (include / "NvInferImpl.h").read_text(encoding="utf-8")
    lines = ["#pragma once", "#include <cstdlib>", "namespace nvinfer1 {"]
    for original, stub in _CLASSES.items():
        found = re.search(rf"class {original} : public VRoot\s*\{{(.*?)\n\}};", source, re.DOTALL)
        assert found is not None, original
        lines.append(f"class {stub} : public apiv::{original} {{ public:")
        lines += [f"{signature} override {{ std::abort(); }}" for signature, _ in _FUNCTION.findall(found[1])]
        lines.append("};")
    return "\n".join([*lines, "}  // namespace nvinfer1", ""])
