"""The half-precision form of a graph: float16 weights and activations, float32 where `precision_rules` wants it.

Strongly typed, as TensorRT 11 demands: every change of type is a Cast in the graph, so ONNX Runtime computes the very
numbers' types that TensorRT will. Caches become float16; every other input and output keeps its type. The softmax
inside Attention has no type of its own here: TensorRT refuses `softmax_precision`, its fused kernels use float32, and
written out as MatMul, Softmax and MatMul it is not fused (docs/decisions/0008-softmax-in-attention.md).
"""

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

from build_engines.tensorrt.plain_weights import plain_weights, without_weights
from build_engines.tensorrt.precision_rules import HALF_OPS, MOVES, NORMS, SUMS, TAINTING_OPS, Reach, reaches

FLOAT, HALF = int(onnx.TensorProto.FLOAT), int(onnx.TensorProto.FLOAT16)
_LARGEST = float(np.finfo(np.float16).max)
_SUFFIXES = {FLOAT: "as_float", HALF: "as_half"}


@dataclass(frozen=True)
class HalfGraph:
    """A converted model.

    Attributes:
        model: the graph.
        heads: tensors, of the same name in the float32 graph, where half precision ends: logits, spectra and the like.
    """

    model: onnx.ModelProto
    heads: tuple[str, ...]


def half_precision(model: onnx.ModelProto) -> HalfGraph:
    """Convert a float32 model.

    Raises:
        ValueError: a weight that would be float16 is too large for it.
    """
    plain = plain_weights(model)
    return _Conversion(plain, _float_tensors(plain), reaches(plain.graph)).run()


def _float_tensors(model: onnx.ModelProto) -> set[str]:
    """Return the names of all float32 tensors, by type inference on the graph without its weights."""
    bare = without_weights(model)
    weights = [helper.make_tensor_value_info(item.name, item.data_type, item.dims) for item in model.graph.initializer]
    small = [tensor for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.INT64]
    bare.graph.initializer.extend(small)
    bare.graph.input.extend(weights)
    graph = onnx.shape_inference.infer_shapes(bare).graph
    known = [*graph.input, *graph.value_info, *graph.output]
    return {item.name for item in known if item.type.tensor_type.elem_type == FLOAT}


@dataclass
class _Conversion:
    """The state of one conversion: what has been written so far, and in which type each tensor exists."""

    plain: onnx.ModelProto
    floats: set[str]
    reach: dict[str, Reach]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, onnx.TensorProto] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    tainted: set[str] = field(default_factory=set)
    heads: list[str] = field(default_factory=list)
    versions: dict[tuple[str, int], str] = field(default_factory=dict)

    def run(self) -> HalfGraph:
        graph = self.plain.graph
        self._stored = {tensor.name: tensor for tensor in graph.initializer}
        self._outputs = {item.name for item in graph.output}
        self._caches = {node.input[0] for node in graph.node if node.op_type == "TensorScatter"}
        self._caches |= {node.output[0] for node in graph.node if node.op_type == "TensorScatter"}
        for item in [*graph.input, *graph.output]:
            if item.name in self._caches:
                item.type.tensor_type.elem_type = HALF
        self.types |= {item.name: HALF if item.name in self._caches else FLOAT for item in graph.input}
        for node in graph.node:
            self._convert(node)
        del graph.node[:], graph.initializer[:], graph.value_info[:]
        graph.node.extend(self.nodes)
        graph.initializer.extend(self.weights.values())
        onnx.checker.check_model(self.plain)
        return HalfGraph(self.plain, tuple(self.heads))

    def _convert(self, node: onnx.NodeProto) -> None:
        """Write one node in the precision that it is to run in."""
        inputs = [name for name in node.input if name in self.floats]
        outputs = [name for name in node.output if name in self.floats]
        is_tainted = any(name in self.tainted for name in inputs)
        kind = self._kind(node, inputs, outputs, is_tainted=is_tainted) if inputs or outputs else FLOAT
        new = onnx.NodeProto()
        new.CopyFrom(node)
        del new.input[:]
        new.input.extend(self._version(name, kind) for name in node.input)
        self.nodes.append(new)
        for name in outputs:
            self._produced(node, new, name, kind)
        if is_tainted or node.op_type in TAINTING_OPS:
            self.tainted.update(outputs)

    def _kind(self, node: onnx.NodeProto, inputs: list[str], outputs: list[str], *, is_tainted: bool) -> int:
        """Decide the type in which a node runs."""
        op = node.op_type
        if op == "TensorScatter":
            return HALF
        if is_tainted or op in TAINTING_OPS or op in NORMS or op in SUMS or op in ("Cast", "ConstantOfShape"):
            return FLOAT
        if op in HALF_OPS:
            return HALF
        if op in MOVES and node.input[0] not in self._stored and node.input[0] in self.floats:
            return self.types[node.input[0]]
        return HALF if inputs and any(self.reach[name].runs_in_half for name in outputs) else FLOAT

    def _produced(self, node: onnx.NodeProto, new: onnx.NodeProto, name: str, kind: int) -> None:
        """Note the type of an output; give graph outputs and heads their float32 form."""
        self.types[name] = kind
        if kind == FLOAT or name in self._caches:
            return
        is_head = node.op_type in HALF_OPS and not self.reach[name].runs_in_half
        if not is_head and name not in self._outputs:
            return
        narrow = f"{name}.half"
        new.output[list(new.output).index(name)] = narrow
        self.nodes.append(helper.make_node("Cast", [narrow], [name], to=FLOAT))
        self.types[name] = FLOAT
        if is_head:
            self.heads.append(name)

    def _version(self, name: str, kind: int) -> str:
        """Return the name of a tensor in this type, casting it at most once."""
        if name in self._stored:
            return self._weight(name, kind)
        if name not in self.floats or self.types[name] == kind:
            return name
        if (name, kind) not in self.versions:
            self.versions[name, kind] = f"{name}.{_SUFFIXES[kind]}"
            self.nodes.append(helper.make_node("Cast", [name], [self.versions[name, kind]], to=kind))
        return self.versions[name, kind]

    def _weight(self, name: str, kind: int) -> str:
        """Store a weight in this type, once, and return its name."""
        tensor = self._stored[name]
        if tensor.data_type != FLOAT or kind == FLOAT:
            self.weights[name] = tensor
            return name
        narrow = f"{name}.{_SUFFIXES[HALF]}"
        if narrow not in self.weights:
            array = numpy_helper.to_array(tensor)
            largest = float(np.abs(array).max(initial=0.0))
            if largest > _LARGEST:
                raise ValueError(
                    f"Weight {name} has {largest:g}, beyond float16's {_LARGEST:g}; keep its operator in float32."
                )
            self.weights[narrow] = numpy_helper.from_array(array.astype(np.float16), narrow)
        return narrow
