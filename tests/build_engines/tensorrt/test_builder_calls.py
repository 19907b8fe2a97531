"""What the builder asks of TensorRT where versions differ, on a scripted package."""

from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from build_engines.tensorrt.plan_builder import PlanBuilder
from build_engines.tensorrt.plan_options import PlanOptions, step_profiles
from trt_engines.errors import BackendError
from trt_engines.tensorrt.flavor import Flavor

OPTIONS = PlanOptions("tensorrt")
MODEL = onnx.parser.parse_model(
    '<ir_version: 11, opset_import: ["" : 24]> g (float[B, 2] x) => (float[B, 2] y) { y = Identity(x) }'
)


class _Logger:
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)


class _Parser:
    """Refuses every graph."""

    num_errors = 1

    def __init__(self, *_: Any) -> None:
        """Take network and log."""

    def parse_from_file(self, _path: str) -> bool:
        """Refuse."""
        return False

    def get_error(self, _index: int) -> Any:
        """Say why."""
        return SimpleNamespace(desc=lambda: "no such operator")


def _flavor(builder: Any, strongly_typed: int) -> Flavor:
    flags = SimpleNamespace(STRONGLY_TYPED=strongly_typed)
    api = SimpleNamespace(
        ILogger=_Logger, Builder=builder, OnnxParser=_Parser, NetworkDefinitionCreationFlag=flags, LayerType=None
    )
    return Flavor("tensorrt", _Hashable(api), "10.15.1.29")


class _Hashable:
    """A module: compared by identity."""

    def __init__(self, names: SimpleNamespace) -> None:
        self.__dict__.update(vars(names))


@pytest.mark.parametrize("value", [0, 1])
def test_networks_are_strongly_typed_in_every_version(value: int) -> None:
    """TensorRT 10 computes a float16 graph in float32 unless it is told; the flag's number is another one in 11."""
    asked: list[int] = []

    class Builder:
        def __init__(self, _log: Any) -> None:
            """Take the log."""

        def create_network(self, flags: int) -> None:
            asked.append(flags)

    with pytest.raises(BackendError, match="cannot read g: no such operator"):
        PlanBuilder(_flavor(Builder, value), OPTIONS).build(MODEL, step_profiles(1))
    assert [1 << value] == asked


def test_a_builder_that_cannot_start_is_a_sentence() -> None:
    """Where its CUDA finds no driver, TensorRT's package raises TypeError."""

    def builder(log: Any) -> None:
        log.log(_Logger.ERROR, "CUDA initialization failure with error: 35")
        raise TypeError("pybind11::init(): factory function returned nullptr")

    with pytest.raises(BackendError, match=r"tensorrt 10.15.1.29 cannot start; update the NVIDIA driver.*error: 35"):
        PlanBuilder(_flavor(builder, 1), OPTIONS).build(MODEL, step_profiles(1))
