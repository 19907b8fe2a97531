"""Replaces the nodes whose operator a graph defines itself by what they stand for, in standard operators."""

import onnx


def inlined_functions(model: onnx.ModelProto, stored: dict[str, onnx.TensorProto]) -> list[onnx.NodeProto]:
    """Return the nodes of a model with every function written out; constants of the functions join `stored`.

    What several calls compute alike, from the same tensors, is computed once.
    """
    functions = {(function.domain, function.name): function for function in model.functions}
    inliner = _Inliner(stored)
    for node in model.graph.node:
        function = functions.get((node.domain, node.op_type))
        if function is None:
            inliner.nodes.append(node)
        else:
            inliner.write(node, function)
    return inliner.nodes


class _Inliner:
    """The nodes written so far, and the outputs of those that came from functions."""

    def __init__(self, stored: dict[str, onnx.TensorProto]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self._stored = stored
        self._known: dict[bytes, list[str]] = {}

    def write(self, call: onnx.NodeProto, function: onnx.FunctionProto) -> None:
        """Write the nodes of one call."""
        names = {"": ""} | dict(zip(function.input, call.input, strict=False))
        names |= dict(zip(function.output, call.output, strict=False))
        for inner in function.node:
            node = onnx.NodeProto()
            node.CopyFrom(inner)
            del node.input[:], node.output[:]
            node.input.extend(names[name] for name in inner.input)
            key = node.SerializeToString(deterministic=True)
            is_result = any(name in function.output for name in inner.output)
            if key in self._known and not is_result:
                names |= dict(zip(inner.output, self._known[key], strict=True))
                continue
            names |= {name: f"{call.output[0]}.{name}" for name in inner.output if name not in names}
            node.output.extend(names[name] for name in inner.output)
            self._known[key] = list(node.output)
            self._keep(node)

    def _keep(self, node: onnx.NodeProto) -> None:
        if node.op_type != "Constant":
            self.nodes.append(node)
            return
        tensor = onnx.TensorProto()
        tensor.CopyFrom(node.attribute[0].t)
        tensor.name = node.output[0]
        self._stored[tensor.name] = tensor
