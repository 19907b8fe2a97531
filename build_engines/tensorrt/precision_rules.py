"""Which parts of a graph may run in half precision: the rules, and how far each tensor is from a part that may not.

Matrix products, convolutions and attention run in half precision. Norms, rotary embeddings, sums and softmax are
islands: float32 inside, and what comes out may go on in half precision. Exponentials, angles, sampling and the like
taint: whatever is computed from them stays float32, since it is audio, a probability or a phase by then. Everything
else follows: half precision where its result feeds only parts that run so, float32 where it reaches a tainting one.
"""

from collections import defaultdict
from dataclasses import dataclass

import onnx

HALF_OPS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "Attention", "TensorScatter"})
NORMS = frozenset({"RMSNormalization", "LayerNormalization", "InstanceNormalization", "RotaryEmbedding"})
SUMS = frozenset({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "Softmax"})
TAINTING_OPS = frozenset({
    "Exp", "Log", "Sin", "Cos", "Atan", "CumSum", "Mod", "Floor", "Ceil", "Round", "TopK", "ArgMax", "ArgMin", "Pow",
})  # fmt: skip
MOVES = frozenset({
    "Slice", "Split", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Identity", "GatherElements",
    "Gather", "Pad", "Tile",
})  # fmt: skip


@dataclass(frozen=True)
class Reach:
    """Where a tensor's value goes, through operators that merely follow.

    Attributes:
        half: some path ends in a half-precision operator or a norm.
        tainting: some path ends in an operator that taints.
    """

    half: bool
    tainting: bool

    @property
    def runs_in_half(self) -> bool:
        """Whether computing it in half precision helps and harms nothing."""
        return self.half and not self.tainting


def reaches(graph: onnx.GraphProto) -> dict[str, Reach]:
    """Return the reach of every tensor of a topologically sorted graph; tensors that nobody reads are missing."""
    found: dict[str, Reach] = defaultdict(lambda: Reach(half=False, tainting=False))
    for node in reversed(graph.node):
        through = _reach_of_input(node, found)
        for name in node.input:
            known = found[name]
            found[name] = Reach(known.half or through.half, known.tainting or through.tainting)
    return found


def _reach_of_input(node: onnx.NodeProto, found: dict[str, Reach]) -> Reach:
    if node.op_type in HALF_OPS or node.op_type in NORMS:
        return Reach(half=True, tainting=False)
    if node.op_type in TAINTING_OPS:
        return Reach(half=False, tainting=True)
    outputs = [found[name] for name in node.output]
    return Reach(any(reach.half for reach in outputs), any(reach.tainting for reach in outputs))
