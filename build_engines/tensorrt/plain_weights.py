"""Turns weights that are stored narrowly back into plain float32, so that every later pass sees one form."""

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

_ZERO_POINT = 128


def plain_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with float32 weights only.

    Folds `Cast` of stored float16 weights, and turns ONNX Runtime's MatMulNBits (8 bits, symmetric) into MatMul.
    """
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    stored = {tensor.name: tensor for tensor in plain.graph.initializer}
    made: dict[str, onnx.TensorProto] = {}
    nodes = [node for node in (_plain_node(node, stored, made) for node in plain.graph.node) if node is not None]
    del plain.graph.node[:]
    plain.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    weights = [tensor for tensor in [*plain.graph.initializer, *made.values()] if tensor.name in used]
    del plain.graph.initializer[:]
    plain.graph.initializer.extend(weights)
    opsets = [opset for opset in plain.opset_import if opset.domain in ("", "ai.onnx")]
    del plain.opset_import[:]
    plain.opset_import.extend(opsets)
    return plain


def _plain_node(
    node: onnx.NodeProto, stored: dict[str, onnx.TensorProto], made: dict[str, onnx.TensorProto]
) -> onnx.NodeProto | None:
    """Return the node in its plain form, or None if it only widened a weight."""
    if node.op_type == "Cast" and node.input[0] in stored:
        weight = stored[node.input[0]]
        if weight.data_type == onnx.TensorProto.FLOAT16 and _attribute(node, "to") == onnx.TensorProto.FLOAT:
            widened = numpy_helper.to_array(weight).astype(np.float32)
            made[node.output[0]] = numpy_helper.from_array(widened, node.output[0])
            return None
    if node.op_type == "MatMulNBits":
        name = f"{node.input[1]}.plain"
        made[name] = numpy_helper.from_array(_dequantized(node, stored), name)
        return helper.make_node("MatMul", [node.input[0], name], list(node.output), node.name)
    return node


def _dequantized(node: onnx.NodeProto, stored: dict[str, onnx.TensorProto]) -> npt.NDArray[np.float32]:
    """Return the matrix [inputs, outputs] of a MatMulNBits node."""
    packed, scales = (numpy_helper.to_array(stored[name]) for name in node.input[1:3])
    if _attribute(node, "bits") != 8 or len(node.input) > 3:
        raise ValueError(
            f"Node {node.output[0]} is not symmetric 8-bit; TensorRT graphs are made from those or floats only."
        )
    outputs, inputs = _attribute(node, "N"), _attribute(node, "K")
    blocks = (packed.astype(np.float32) - _ZERO_POINT) * scales.reshape(outputs, -1, 1)
    matrix: npt.NDArray[np.float32] = blocks.reshape(outputs, -1)[:, :inputs].T.astype(np.float32)
    return np.ascontiguousarray(matrix)


def _attribute(node: onnx.NodeProto, name: str) -> int:
    return next(int(item.i) for item in node.attribute if item.name == name)
