"""What a step of a bundle has to do, counted on the graph as ONNX Runtime runs it: products, weights, caches."""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from trt_engines.manifest import KvSpec, Manifest

_COPIES = 16
_FLOAT_BYTES = 4
_BLOCK = 64


@dataclass(frozen=True)
class Product:
    """A product of rows [rows, inputs] with a matrix of weights [inputs, outputs], of 8 bits or of float32."""

    inputs: int
    outputs: int
    is_narrow: bool

    @property
    def macs(self) -> int:
        """Multiplications for one row."""
        return self.inputs * self.outputs

    def work(self, rows: int) -> Callable[[], object]:
        """Return 16 such products with the same weights, which stay in the nearest cache that holds them."""
        graph = helper.make_graph(
            [self._node(index) for index in range(_COPIES)],
            "products",
            [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [rows, self.inputs]) for i in range(_COPIES)],
            [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [rows, self.outputs]) for i in range(_COPIES)],
            [numpy_helper.from_array(array, name) for name, array in self._weights().items()],
        )
        opsets = [helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=12)
        session = ort.InferenceSession(model.SerializeToString(), _one_thread(), providers=["CPUExecutionProvider"])
        feeds = {f"x{i}": np.ones((rows, self.inputs), np.float32) for i in range(_COPIES)}
        return lambda: session.run(None, feeds)

    def _weights(self) -> dict[str, NDArray[np.generic]]:
        if not self.is_narrow:
            return {"w": np.ones((self.inputs, self.outputs), np.float32)}
        blocks = -(-self.inputs // _BLOCK)
        codes = np.full((self.outputs, blocks, _BLOCK), 129, np.uint8)
        return {"w": codes, "scales": np.ones((self.outputs, blocks), np.float32)}

    def _node(self, index: int) -> onnx.NodeProto:
        if not self.is_narrow:
            return helper.make_node("MatMul", [f"x{index}", "w"], [f"y{index}"])
        sizes = {"K": self.inputs, "N": self.outputs, "bits": 8, "block_size": _BLOCK, "accuracy_level": 4}
        names = [f"x{index}", "w", "scales"]
        node = helper.make_node("MatMulNBits", names, [f"y{index}"], domain="com.microsoft")
        node.attribute.extend(helper.make_attribute(name, size) for name, size in sizes.items())
        return node


@dataclass(frozen=True)
class StepCost:
    """The parts.

    Attributes:
        products: how many of each kind one step does.
        weight_bytes: of all matrices that are multiplied by, each counted once however often it is used.
        kv: the caches.
    """

    products: Counter[Product]
    weight_bytes: int
    kv: KvSpec

    @property
    def macs_per_row(self) -> int:
        """Multiplications of the products, for one row."""
        return sum(count * product.macs for product, count in self.products.items())

    def cache_bytes(self, position_count: int) -> int:
        """Return the bytes of keys and values at this many positions, of all rows together."""
        return position_count * 2 * self.kv.layers * self.kv.heads * self.kv.head_dim * _FLOAT_BYTES

    def multiply_s(self, times_s: dict[Product, float]) -> float:
        """Return the time of all products, given that of `Product.work`."""
        return sum(count * times_s[product] / _COPIES for product, count in self.products.items())


def step_cost(bundle_dir: Path, manifest: Manifest) -> StepCost:
    """Count what the step graph does once ONNX Runtime has unpacked its weights."""
    graph = _optimized(bundle_dir / manifest.step.graph)
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    products, matrices = Counter[Product](), dict[str, int]()
    for node in graph.node:
        if node.op_type == "MatMulNBits":
            sizes = {attribute.name: attribute.i for attribute in node.attribute}
            product = Product(sizes["K"], sizes["N"], is_narrow=True)
            matrices[node.input[1]] = product.macs + 4 * product.macs // sizes["block_size"]
        elif node.op_type in ("MatMul", "Gemm") and node.input[1] in tensors:
            # Gemm may hold its matrix transposed; which way is the same number of multiplications.
            inputs, outputs = tensors[node.input[1]].dims[-2:]
            product = Product(inputs, outputs, is_narrow=False)
            matrices[node.input[1]] = _FLOAT_BYTES * product.macs
        else:
            continue
        products[product] += 1
    return StepCost(products, sum(matrices.values()), manifest.kv)


def _optimized(path: Path) -> onnx.GraphProto:
    """Return the graph as ONNX Runtime has simplified it, without the values of large weights."""
    with tempfile.TemporaryDirectory() as folder:
        options = _one_thread()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(Path(folder) / "step.onnx")
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath, load_external_data=False).graph


def _one_thread() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options
