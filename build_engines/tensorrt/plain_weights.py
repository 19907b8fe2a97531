"""Turns weights that are stored narrowly back into plain float32, so that every later pass sees one form."""

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from build_engines.graph.quantization import BlockFormat
from build_engines.tensorrt.inlined_functions import inlined_functions


def plain_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with whatever depends on weights alone already computed.

    That undoes every storage format: float16, 8 bits in blocks, and ONNX Runtime's MatMulNBits, which becomes MatMul.
    Functions that the model defines are written out, so that standard operators are left.
    """
    plain = without_weights(model)
    graph = plain.graph
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes = [_plain_product(node, stored) for node in inlined_functions(model, stored)]
    folding = _depending_on(nodes, set(stored))
    kept = [node for node in nodes if not any(node is folded for folded in folding)]
    wanted = {name for node in kept for name in node.input} | {item.name for item in graph.output}
    stored |= _computed(folding, stored, wanted, plain)
    del graph.node[:]
    graph.node.extend(kept)
    graph.initializer.extend(tensor for name, tensor in stored.items() if name in wanted)
    opsets = [opset for opset in plain.opset_import if opset.domain in ("", "ai.onnx")]
    del plain.opset_import[:]
    plain.opset_import.extend(opsets)
    return plain


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a model but for its initializers, which may be gigabytes."""
    bare = onnx.ModelProto(ir_version=model.ir_version, producer_name=model.producer_name)
    bare.opset_import.extend(model.opset_import)
    bare.graph.name = model.graph.name
    for field in ("node", "input", "output", "value_info"):
        getattr(bare.graph, field).extend(getattr(model.graph, field))
    return bare


def _depending_on(nodes: list[onnx.NodeProto], known: set[str]) -> list[onnx.NodeProto]:
    """Return the nodes whose every input is known, or becomes known by one of them."""
    found = []
    for node in nodes:
        if node.input and all(not name or name in known for name in node.input):
            found.append(node)
            known = known | set(node.output)
    return found


def _computed(
    nodes: list[onnx.NodeProto], stored: dict[str, onnx.TensorProto], wanted: set[str], model: onnx.ModelProto
) -> dict[str, onnx.TensorProto]:
    """Run nodes that need no input; return those of their outputs that are wanted.

    Each output is computed by itself: all weights of a large model together are more than one model file may hold.
    """
    makers = {name: node for node in nodes for name in node.output}
    computed = {}
    for name in makers:
        if name in wanted:
            chain = _chain_to(name, makers)
            used = {item for node in chain for item in node.input}
            weights = [stored[item] for item in used if item in stored]
            graph = helper.make_graph(chain, "weight", [], [onnx.ValueInfoProto(name=name)], weights)
            alone = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
            session = ort.InferenceSession(alone.SerializeToString(), providers=["CPUExecutionProvider"])
            computed[name] = numpy_helper.from_array(session.run([name], {})[0], name)
    return computed


def _chain_to(name: str, makers: dict[str, onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Return the nodes that a tensor needs, each once and before its readers."""
    chain: list[onnx.NodeProto] = []

    def visit(tensor: str) -> None:
        node = makers.get(tensor)
        if node is not None and not any(node is known for known in chain):
            for item in node.input:
                visit(item)
            chain.append(node)

    visit(name)
    return chain


def _plain_product(node: onnx.NodeProto, stored: dict[str, onnx.TensorProto]) -> onnx.NodeProto:
    """Return the node, or a MatMul for a MatMulNBits; its matrix joins `stored`."""
    if node.op_type != "MatMulNBits":
        return node
    name = f"{node.input[1]}.plain"
    stored[name] = numpy_helper.from_array(_dequantized(node, stored), name)
    return helper.make_node("MatMul", [node.input[0], name], list(node.output), node.name)


def _dequantized(node: onnx.NodeProto, stored: dict[str, onnx.TensorProto]) -> npt.NDArray[np.float32]:
    """Return the matrix [inputs, outputs] of a MatMulNBits node."""
    packed, scales = (numpy_helper.to_array(stored[name]) for name in node.input[1:3])
    if len(node.input) > 3:
        raise ValueError(f"Node {node.output[0]} is not symmetric; TensorRT graphs are made from such or floats only.")
    outputs, inputs = _attribute(node, "N"), _attribute(node, "K")
    blocks = BlockFormat(_attribute(node, "bits"), _attribute(node, "block_size"))
    return np.ascontiguousarray(blocks.dequantize(packed, scales.reshape(outputs, -1), inputs).T)


def _attribute(node: onnx.NodeProto, name: str) -> int:
    return next(int(item.i) for item in node.attribute if item.name == name)
