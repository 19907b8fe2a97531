"""Builds one ONNX graph node by node: operators of opset 24, names and dynamic axes as the engines expect.

A graph written by hand has exactly the nodes it needs, is made in milliseconds and needs no torch; the torch networks
are the independent reference that `verify` compares it with.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from build_engines.graph.quantization import BlockFormat
from build_engines.graph.storage import Storage
from build_engines.graph.value import Value
from build_engines.graph.weight_file import LEAST_BYTES, WeightFile

OPSET = 24
IR_VERSION = 12
CONTRIB_DOMAIN = "com.microsoft"
CONSTANT_STEM = "constant"
"""Beginning of the names of numbers that are not learned."""
_SHARED_BYTES = 1024

Operand = Value | npt.NDArray[np.generic]
Attribute = int | float | str | Sequence[int]
Shape = Sequence[int | str]


class GraphBuilder:
    """Collects inputs, initializers, nodes and outputs, then makes a checked model of them."""

    def __init__(self, name: str, storage: Storage = Storage.FLOAT32, weight_file: WeightFile | None = None) -> None:
        """Start an empty graph; with a `weight_file` all but the smallest arrays go there."""
        self.name = name
        self.storage = storage
        self._weight_file = weight_file
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}
        self._functions: dict[str, onnx.FunctionProto] = {}
        self._shared: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._count = 0

    @staticmethod
    def element_type(dtype: npt.DTypeLike) -> int:
        """Return ONNX's number of an element type."""
        return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def input(self, name: str, dtype: npt.DTypeLike, shape: Shape) -> Value:
        """Declare a graph input; an axis given as text is dynamic."""
        self._inputs.append(helper.make_tensor_value_info(name, self.element_type(dtype), list(shape)))
        return Value(self, name, np.dtype(dtype))

    def output(self, name: str, value: Value, shape: Shape) -> None:
        """Declare `value` as the graph output `name`."""
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, self.element_type(value.dtype), list(shape)))

    def output_of(
        self, name: str, kind: str, inputs: Sequence[Operand], shape: Shape, **attributes: Attribute
    ) -> Value:
        """Append a node that writes the graph output `name` itself, and return it.

        TensorRT and ONNX Runtime update a cache in place only when the scatter's own result is the graph output.
        """
        values = [self._value(item) for item in inputs]
        self._append(kind, values, [name], "", attributes)
        self._outputs.append(helper.make_tensor_value_info(name, self.element_type(values[0].dtype), list(shape)))
        return Value(self, name, values[0].dtype)

    def constant(self, array: npt.NDArray[np.generic]) -> Value:
        """Return a constant; small equal ones are stored once."""
        key = (array.dtype.str, array.shape, array.tobytes()) if array.nbytes <= _SHARED_BYTES else None
        if key is not None and key in self._shared:
            return self._shared[key]
        value = self.initializer(self._fresh(CONSTANT_STEM), array)
        if key is not None:
            self._shared[key] = value
        return value

    def initializer(self, name: str, array: npt.NDArray[np.generic]) -> Value:
        """Store an array under a name, as it is."""
        if name not in self._initializers:
            self._initializers[name] = self._tensor(name, np.ascontiguousarray(array).reshape(array.shape))
        return Value(self, name, array.dtype)

    def _tensor(self, name: str, array: npt.NDArray[np.generic]) -> onnx.TensorProto:
        if self._weight_file is None or array.nbytes < LEAST_BYTES:
            return numpy_helper.from_array(array, name)
        return self._weight_file.tensor(name, array)

    def weight(self, name: str, array: npt.NDArray[np.floating]) -> Value:
        """Store a learned float array in the graph's storage format and return it as float32.

        The same name is stored once, however often it is asked for. Vectors stay as they are.
        """
        if self.storage is Storage.FLOAT32 or array.ndim < 2:
            return self.initializer(name, array.astype(np.float32))
        blocks = self.storage.restored_format(array.shape)
        if blocks is not None:
            return self._unpacked(name, array, blocks)
        return self._narrow(name, array).cast(np.float32)

    def lookup(self, name: str, table: npt.NDArray[np.floating], rows: Value) -> Value:
        """Take rows of a learned table [entries, width], which stays in memory as narrow as it is stored."""
        if self.storage is Storage.FLOAT32:
            return self.gather(self.initializer(name, table.astype(np.float32)), rows)
        return self.gather(self._narrow(name, table), rows).cast(np.float32)

    def _narrow(self, name: str, array: npt.NDArray[np.floating]) -> Value:
        narrow = array.astype(np.float16)
        if not np.isfinite(narrow).all():
            raise ValueError(f"Weight {name} has values beyond float16's 65504; store this graph as float32 instead.")
        return self.initializer(name, narrow)

    def _unpacked(self, name: str, array: npt.NDArray[np.floating], blocks: BlockFormat) -> Value:
        packed, scales = blocks.quantize(array.reshape(-1, array.shape[-1]).astype(np.float32))
        codes = self.initializer(f"{name}.packed", packed).cast(np.float32) - float(blocks.zero_point)
        restored = codes * self.initializer(f"{name}.scales", scales).unsqueeze(-1)
        return restored.reshape(len(packed), -1).slice(1, 0, array.shape[-1]).reshape(*array.shape)

    def op(
        self,
        kind: str,
        inputs: Sequence[Operand],
        *,
        dtype: npt.DTypeLike | None = None,
        domain: str = "",
        **attributes: Attribute,
    ) -> Value:
        """Append a node with one output; its element type is that of the first input unless given."""
        values = [self._value(item) for item in inputs]
        name = self._fresh(kind)
        self._append(kind, values, [name], domain, attributes)
        return Value(self, name, values[0].dtype if dtype is None else np.dtype(dtype))

    def call(
        self,
        function: onnx.FunctionProto,
        inputs: Sequence[Operand | None],
        outputs: Mapping[str, Shape],
        attributes: Mapping[str, Attribute],
    ) -> Value:
        """Append a node of a function, which goes into the model; a runtime with such an operator uses its own.

        Args:
            function: its definition.
            inputs: None where one is left out.
            outputs: shapes of all outputs but the first, which are outputs of the graph, by name.
            attributes: of the node.

        Returns:
            The first output.
        """
        first = next(item for item in inputs if isinstance(item, Value))
        values = [Value(self, "", first.dtype) if item is None else self._value(item) for item in inputs]
        made = Value(self, self._fresh(function.name), first.dtype)
        self._append(function.name, values, [made.name, *outputs], function.domain, attributes)
        kind = self.element_type(first.dtype)
        self._outputs.extend(helper.make_tensor_value_info(name, kind, list(outputs[name])) for name in outputs)
        self._functions[function.name] = function
        return made

    def split(self, value: Value, sizes: Sequence[int], axis: int) -> list[Value]:
        """Cut a value into parts of these sizes along one axis."""
        names = [self._fresh("Split") for _ in sizes]
        self._append("Split", [value, self.constant(np.asarray(sizes, np.int64))], names, "", {"axis": axis})
        return [Value(self, name, value.dtype) for name in names]

    def cut_input(self, value: Value, parts: Sequence[Value], sizes: Sequence[int], axis: int) -> None:
        """Cut an input into parts that nodes already read, now that the sizes of all of them are known."""
        names = [part.name for part in parts]
        self._append("Split", [value, self.constant(np.asarray(sizes, np.int64))], names, "", {"axis": axis})
        self._nodes.insert(0, self._nodes.pop())

    def top(self, value: Value, count: int) -> tuple[Value, Value]:
        """Return the `count` largest elements of the last axis, largest first, and their int64 positions."""
        names = [self._fresh("TopK") for _ in range(2)]
        self._append("TopK", [value, self.constant(np.asarray([count], np.int64))], names, "", {"axis": -1})
        return Value(self, names[0], value.dtype), Value(self, names[1], np.dtype(np.int64))

    def concat(self, values: Sequence[Operand], axis: int) -> Value:
        """Join values along one axis."""
        return self.op("Concat", values, axis=axis) if len(values) > 1 else self._value(values[0])

    def where(self, condition: Value, chosen: Operand, other: Operand) -> Value:
        """Choose element by element."""
        either = self._value(chosen)
        return self.op("Where", [condition, either, other], dtype=either.dtype)

    def gather(self, table: Operand, indices: Operand, axis: int = 0) -> Value:
        """Take slices of `table` along one axis."""
        return self.op("Gather", [table, indices], axis=axis)

    def size(self, value: Value, axis: int) -> Value:
        """Return the size of one axis as an int64 scalar."""
        return self.op("Shape", [value], dtype=np.int64, start=axis, end=axis + 1).squeeze(0)

    def arange(self, count: Value) -> Value:
        """Return 0 .. count-1 as int64."""
        zero, one = np.asarray(0, np.int64), np.asarray(1, np.int64)
        return self.op("Range", [zero, count, one])

    def model(self) -> onnx.ModelProto:
        """Return the finished model after the ONNX checker has passed it; with a weight file, save it to check it."""
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, initializer=list(self._initializers.values())
        )
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == CONTRIB_DOMAIN for node in self._nodes):
            opsets.append(helper.make_opsetid(CONTRIB_DOMAIN, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="antiphon")
        model.functions.extend(self._functions.values())
        if self._weight_file is None:
            onnx.checker.check_model(model)
        return model

    def function(
        self, domain: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Sequence[str]
    ) -> onnx.FunctionProto:
        """Return the finished graph as the definition of the operator that has the graph's name.

        Args:
            domain: of the operator.
            inputs: names in the operator's order; those that are no inputs of this graph are ignored by it.
            outputs: names in the operator's order.
            attributes: names of those that a node may have; the definition is for the values that this graph has.
        """
        constants = [helper.make_node("Constant", [], [name], value=item) for name, item in self._initializers.items()]
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_function(domain, self.name, inputs, outputs, [*constants, *self._nodes], opsets, attributes)

    def _append(
        self, kind: str, inputs: Sequence[Value], outputs: list[str], domain: str, attributes: Mapping[str, Attribute]
    ) -> None:
        names = [value.name for value in inputs]
        node = helper.make_node(kind, names, outputs, domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)

    def _value(self, item: Operand) -> Value:
        return item if isinstance(item, Value) else self.constant(item)

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"
