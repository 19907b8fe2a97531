"""A tensor of a graph under construction; arithmetic on it appends nodes to its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # the builder makes values, so only the type is needed here
    from build_engines.graph.builder import GraphBuilder


@dataclass(frozen=True, eq=False)
class Value:
    """One named tensor of a graph.

    Attributes:
        graph: the graph that computes it.
        name: its name in the graph.
        dtype: its element type.
    """

    graph: GraphBuilder
    name: str
    dtype: np.dtype[np.generic]

    def __add__(self, other: Value | float | npt.NDArray[np.generic]) -> Value:
        return self._binary("Add", other)

    def __sub__(self, other: Value | float | npt.NDArray[np.generic]) -> Value:
        return self._binary("Sub", other)

    def __mul__(self, other: Value | float | npt.NDArray[np.generic]) -> Value:
        return self._binary("Mul", other)

    def __truediv__(self, other: Value | float | npt.NDArray[np.generic]) -> Value:
        return self._binary("Div", other)

    def __matmul__(self, other: Value | npt.NDArray[np.generic]) -> Value:
        return self._binary("MatMul", other)

    def __mod__(self, other: Value | float) -> Value:
        return self._binary("Mod", other)

    def __lt__(self, other: Value | float) -> Value:
        return self._compare("Less", other)

    def __le__(self, other: Value | float) -> Value:
        return self._compare("LessOrEqual", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compare("Greater", other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compare("GreaterOrEqual", other)

    def __and__(self, other: Value) -> Value:
        return self._binary("And", other)

    def __or__(self, other: Value) -> Value:
        return self._binary("Or", other)

    def __invert__(self) -> Value:
        return self.graph.op("Not", [self])

    def equals(self, other: Value | float) -> Value:
        """Return where both sides are equal (`==` stays the identity, so that values can be set members)."""
        return self._compare("Equal", other)

    def cast(self, dtype: npt.DTypeLike) -> Value:
        """Return the value converted to `dtype`, or itself when it already has that type."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        return self.graph.op("Cast", [self], dtype=wanted, to=self.graph.element_type(wanted))

    def reshape(self, *shape: int) -> Value:
        """Return the value in another shape; 0 keeps an axis, -1 takes what is left."""
        return self.graph.op("Reshape", [self, np.asarray(shape, np.int64)])

    def transpose(self, *order: int) -> Value:
        """Return the value with its axes in another order."""
        return self.graph.op("Transpose", [self], perm=list(order))

    def unsqueeze(self, *axes: int) -> Value:
        """Return the value with axes of size one inserted."""
        return self.graph.op("Unsqueeze", [self, np.asarray(axes, np.int64)])

    def squeeze(self, *axes: int) -> Value:
        """Return the value without these axes of size one."""
        return self.graph.op("Squeeze", [self, np.asarray(axes, np.int64)])

    def slice(self, axis: int, start: int, end: int | None = None) -> Value:
        """Return elements `start` to `end` (exclusive) along one axis; negative positions count from the back."""
        last = np.iinfo(np.int64).max if end is None else end
        bounds = [np.asarray([bound], np.int64) for bound in (start, last, axis)]
        return self.graph.op("Slice", [self, *bounds])

    def sum(self, axis: int, *, keep: bool = False) -> Value:
        """Return the sum over one axis."""
        return self.graph.op("ReduceSum", [self, np.asarray([axis], np.int64)], keepdims=int(keep))

    def _binary(self, kind: str, other: Value | float | npt.NDArray[np.generic]) -> Value:
        return self.graph.op(kind, [self, self._operand(other)])

    def _compare(self, kind: str, other: Value | float) -> Value:
        return self.graph.op(kind, [self, self._operand(other)], dtype=np.dtype(np.bool_))

    def _operand(self, other: Value | float | npt.NDArray[np.generic]) -> Value | npt.NDArray[np.generic]:
        return other if isinstance(other, Value) else np.asarray(other, self.dtype)
