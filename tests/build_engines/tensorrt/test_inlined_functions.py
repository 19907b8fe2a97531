"""Functions of a model, written out in standard operators."""

import numpy as np
import onnx

from build_engines.graph.builder import CONTRIB_DOMAIN, GraphBuilder
from build_engines.tensorrt.inlined_functions import inlined_functions
from build_engines.tensorrt.plain_weights import plain_weights
from tests.build_engines.graph.graph_session import run_model


def two_calls() -> onnx.ModelProto:
    """A function that nobody else knows, called twice with one argument in common."""
    body = GraphBuilder("Blend")
    left, right = (body.input(name, np.float32, ["N"]) for name in ("left", "right"))
    body.output("blend", (left * 3.0) + right, ["N"])
    function = body.function(CONTRIB_DOMAIN, ("left", "unused", "right"), ("blend",), ())
    graph = GraphBuilder("calls")
    x, y = (graph.input(name, np.float32, ["N"]) for name in "xy")
    once = graph.call(function, [x, None, y], {}, {})
    graph.output("z", graph.call(function, [x, None, once], {}, {}), ["N"])
    return graph.model()


def test_what_two_calls_have_in_common_is_computed_once() -> None:
    """The product of the shared argument is there once, its constant too; each sum is there for itself."""
    stored: dict[str, onnx.TensorProto] = {}
    kinds = [node.op_type for node in inlined_functions(two_calls(), stored)]

    assert 1 == kinds.count("Mul")
    assert 2 == kinds.count("Add")
    assert 1 == len(stored)


def test_the_function_is_computed() -> None:
    """With and without its functions, the model gives what the definition says."""
    x, y = np.asarray([1, 2], np.float32), np.asarray([10, 20], np.float32)
    model = two_calls()

    for form in (model, plain_weights(model)):
        np.testing.assert_array_equal(run_model(form, {"x": x, "y": y})[0], x * 3 + (x * 3 + y))
    assert not plain_weights(model).functions
