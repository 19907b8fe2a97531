"""The form of a bundle's graph that TensorRT is given: precision chosen, caches of a fixed length, steps chained.

Opset 24 parses as it is; three things are decided here because TensorRT wants to know them. The precision is part of
the graph (TensorRT 11 has no switch for it). A cache must have a fixed number of positions. And so that one step can
follow another without the host in between, `step` gives its rows and positions the way it takes them: where a row is
not `active` they stay what they were. `finite` tells the host what it cannot look up on the device: whether the values
that the last layer wrote, where an infinity of any layer before shows too, and the logits are numbers.
"""

from typing import Literal

import onnx
from onnx import helper

from build_engines.tensorrt.half_precision import half_precision
from build_engines.tensorrt.plain_weights import plain_weights
from build_engines.tensorrt.precision_rules import reaches
from trt_engines.tensorrt.plan_manifest import Precision

Operation = Literal["prefill", "step", "vocode", "encode"]

_FIXED_AXES = ("T", "P")
_LARGEST_MEAN = 1e30  # false for NaN and for infinity, with no operator that an optimizer could fold away


def tensorrt_graph(
    model: onnx.ModelProto, operation: Operation, precision: Precision, max_positions: int
) -> onnx.ModelProto:
    """Return the graph to build a plan from; `model` is the bundle's and is left alone.

    What encodes reference audio stays float32: it runs once for a voice, and a code that rounding has moved stays.
    """
    is_half = precision == "float16" and operation != "encode"
    graph = half_precision(model).model if is_half else plain_weights(model)
    _fix_positions(graph.graph, max_positions)
    if operation == "step":
        _chain(graph.graph, max_positions - 1)
        _watch(graph.graph)
    onnx.checker.check_model(graph)
    return graph


def _fix_positions(graph: onnx.GraphProto, max_positions: int) -> None:
    """Give every cache and prompt axis its length."""
    for item in [*graph.input, *graph.output]:
        for axis in item.type.tensor_type.shape.dim:
            if axis.dim_param in _FIXED_AXES:
                axis.Clear()
                axis.dim_value = max_positions


def _chain(graph: onnx.GraphProto, last_position: int) -> None:
    """Replace the output `next_row_ids` by `row_ids_out` and `position_out`, the inputs of the step after this one.

    A row whose cache is full stays at its last position: it is still run idly with its neighbors, and must not write
    into theirs.
    """
    inputs = {item.name: item for item in graph.input}
    outputs = {item.name: item for item in graph.output}
    if "active" not in inputs:
        graph.input.append(helper.make_tensor_value_info("active", onnx.TensorProto.BOOL, ["B"]))
    graph.initializer.append(helper.make_tensor("chain.axis", onnx.TensorProto.INT64, [1], [1]))
    graph.initializer.append(helper.make_tensor("chain.last", onnx.TensorProto.INT32, [1], [last_position]))
    graph.node.extend([
        helper.make_node("Unsqueeze", ["active", "chain.axis"], ["chain.active"]),
        helper.make_node("Where", ["chain.active", "next_row_ids", "row_ids"], ["row_ids_out"]),
        helper.make_node("Cast", ["active"], ["chain.advance"], to=onnx.TensorProto.INT32),
        helper.make_node("Add", ["position", "chain.advance"], ["chain.position"]),
        helper.make_node("Min", ["chain.position", "chain.last"], ["position_out"]),
    ])  # fmt: skip
    graph.output.remove(outputs["next_row_ids"])
    for name in ("row_ids", "position"):
        item = graph.output.add()
        item.CopyFrom(inputs[name])
        item.name = f"{name}_out"


def _watch(graph: onnx.GraphProto) -> None:
    """Add the output `finite` bool [B]."""
    graph.initializer.append(helper.make_tensor("finite.axes", onnx.TensorProto.INT64, [1], [1]))
    graph.initializer.append(helper.make_tensor("finite.limit", onnx.TensorProto.FLOAT, [], [_LARGEST_MEAN]))
    so_far = ""
    for index, watched in enumerate(_watched(graph)):
        name = f"finite.{index}"
        graph.node.extend([
            helper.make_node("Flatten", [watched], [f"{name}.rows"], axis=1),
            helper.make_node("Cast", [f"{name}.rows"], [f"{name}.values"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Abs", [f"{name}.values"], [f"{name}.sizes"]),
            helper.make_node("ReduceMean", [f"{name}.sizes", "finite.axes"], [f"{name}.mean"], keepdims=0),
            helper.make_node("Less", [f"{name}.mean", "finite.limit"], [name]),
        ])  # fmt: skip
        if so_far:
            graph.node.append(helper.make_node("And", [so_far, name], [f"{name}.all"]))
        so_far = f"{name}.all" if so_far else name
    graph.node.append(helper.make_node("Identity", [so_far], ["finite"]))
    graph.output.append(helper.make_tensor_value_info("finite", onnx.TensorProto.BOOL, ["B"]))


def _watched(graph: onnx.GraphProto) -> list[str]:
    """Return the last values written to a cache, and the logits: products of matrices that no other one follows."""
    written = [node.input[1] for node in graph.node if node.op_type == "TensorScatter"][-1]
    reach = reaches(graph)
    products = [node.output[0] for node in graph.node if node.op_type in ("MatMul", "Gemm")]
    return [written, *(name for name in products if not reach[name].half)]
