"""The base of the vocabularies: the verbs that both dialects have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.inference import Inference
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["RefusedError", "Writer"]

#: An end before the first element of every tensor, for slices in reverse order.
PAST_THE_FIRST = -(2**31 - 1)


class RefusedError(Exception):
    """Raised if something cannot be expressed in the dialect; the message is the reason.

    `opset` is the first opset that can express it; 0 if there is none.
    """

    def __init__(self, reason: str, fix: str = "", opset: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix
        self.opset = opset


class Writer(ABC):
    """Emits operations; each verb returns the value that its last operation computes.

    `OnnxWriter` and `OpenVinoWriter` choose the operation, and its version, that each verb becomes.
    Where a new node goes, and what it is called, depends on who writes: a conversion appends nodes
    to a new graph, a pass inserts them before a node.
    """

    #: The types and constants that are known of the graph.
    inference: Inference
    #: The shapes that have been asked for, if new nodes follow all others.
    known_shapes: dict[Value, Value] | None = None

    @property
    @abstractmethod
    def opset(self) -> int:
        """The newest opset whose operations may be emitted."""

    @abstractmethod
    def emit(self, op: Op, *inputs: Value | None, n_outputs: int | None = None) -> Node:
        """Add a node; by default, the operation determines the number of its outputs."""

    @abstractmethod
    def __call__(self, op: Op, *inputs: Value | None) -> Value:
        """Add a node and return its only (or first) output."""

    @abstractmethod
    def tensor(self, tensor: Tensor, name: str = "") -> Value:
        """Add a constant from a tensor of any size; its data is not copied."""

    @abstractmethod
    def constant(self, data: Any, element: ElementType) -> Value:
        """Add a constant with the value of a number, a (nested) list or an array."""

    @abstractmethod
    def constant_of(self, value: Value) -> Array | None:
        """The value of a small constant, folded if needed; None if it is not known."""

    def refuse(self, reason: str, fix: str = "", *, opset: int = 0) -> RefusedError:
        """Make the exception to raise if the dialect cannot express something.

        `opset` is the first opset that could.
        """
        return RefusedError(reason, fix, opset)

    # Constants

    @abstractmethod
    def i64(self, data: Any) -> Value:
        """An i64 constant from a number, a list or an array."""

    def scalar(self, number: float, like: Value) -> Value:
        """A scalar constant of the element type of `like`."""
        return self.constant(number, element_of(like))

    # Copies

    @abstractmethod
    def identity(self, value: Value) -> Value:
        """A copy of the value, which has a name of its own."""

    @abstractmethod
    def own_copy(self, value: Value) -> Value:
        """A copy of the value in memory of its own, where the engine would otherwise share it."""

    # Elements

    @abstractmethod
    def convert(self, value: Value, element: ElementType) -> Value:
        """Convert `value` to an element type; return it unchanged if it has this type already."""

    @abstractmethod
    def convert_always(self, value: Value, element: ElementType) -> Value:
        """Emit operations that convert `value` to `element`, even if it already has this type."""

    @abstractmethod
    def add(self, left: Value, right: Value) -> Value:
        """left + right."""

    @abstractmethod
    def subtract(self, left: Value, right: Value) -> Value:
        """left - right."""

    @abstractmethod
    def multiply(self, left: Value, right: Value) -> Value:
        """left * right."""

    @abstractmethod
    def divide(self, left: Value, right: Value) -> Value:
        """left / right; integers truncate."""

    @abstractmethod
    def maximum(self, left: Value, right: Value) -> Value:
        """The elementwise maximum of two values."""

    @abstractmethod
    def minimum(self, left: Value, right: Value) -> Value:
        """The elementwise minimum of two values."""

    @abstractmethod
    def less(self, left: Value, right: Value) -> Value:
        """left < right."""

    @abstractmethod
    def greater(self, left: Value, right: Value) -> Value:
        """left > right."""

    @abstractmethod
    def equal(self, left: Value, right: Value) -> Value:
        """left == right."""

    @abstractmethod
    def logical_not(self, value: Value) -> Value:
        """The logical negation."""

    @abstractmethod
    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Select the elements of `then` where the condition is true, else those of `otherwise`."""

    @abstractmethod
    def range(self, start: Value, stop: Value, step: Value) -> Value:
        """The numbers from `start` up to, but excluding, `stop`, in steps of `step`; scalars."""

    def numbers_below(self, count: Value) -> Value:
        """Make 0, 1, ... count - 1 as an i64 list; `count` is an i64 scalar."""
        return self.range(self.i64(0), count, self.i64(1))

    @abstractmethod
    def reduce(self, kind: str, value: Value, axes: Sequence[int], *, keep: bool = True) -> Value:
        """A reduction (Sum, Mean, Prod, Max, Min, L1, L2) over known axes."""

    @abstractmethod
    def softmax(self, value: Value, axis: int) -> Value:
        """Softmax along one axis."""

    # Shapes

    def as_i64(self, value: Value) -> Value:
        """Convert an integer value to i64, the type of shapes, axes and positions.

        A constant remains one.
        """
        if element_of(value) is ElementType.I64:
            return value
        known = self.constant_of(value)
        return self.convert_always(value, ElementType.I64) if known is None else self.i64(known)

    @abstractmethod
    def as_list(self, value: Value) -> Value:
        """Reshape an integer scalar or list to a list."""

    def as_scalar(self, value: Value) -> Value:
        """A one-element value as a scalar."""
        return value if static_shape(value).rank == 0 else self._reshaped(value, [])

    def _reshaped(self, value: Value, dims: Sequence[int]) -> Value:
        """Reshape a value of a few elements; a constant remains one."""
        known = self.constant_of(value)
        if known is None:
            return self.reshape(value, dims)
        return self.constant(known.reshape(dims), element_of(value))

    @property
    @abstractmethod
    def shape_operation(self) -> Op:
        """The operation that returns the shape of a value, as i64."""

    def shape_of(self, value: Value) -> Value:
        """The dimensions of `value` as an i64 list; a conversion emits them once for all."""
        known = {} if self.known_shapes is None else self.known_shapes
        shape = known.get(value)
        if shape is None or shape.producer.graph is None:
            shape = known[value] = self(self.shape_operation, value)
        return shape

    def from_the_end(self, positions: Value, sizes: Value) -> Value:
        """Add the sizes of axes to negative positions, which count from the end of their axis."""
        negative = self.less(positions, self.constant(0, element_of(positions)))
        return self.select(negative, self.add(positions, sizes), positions)

    def sizes_of(self, value: Value, axes: Sequence[int]) -> Value:
        """Some dimensions as an i64 list, which is constant if they are known."""
        dims = [static_shape(value).dim(axis) for axis in axes]
        known = [dim for dim in dims if isinstance(dim, int)]
        return self.i64(known) if len(known) == len(dims) else self.sizes_computed(value, axes)

    def sizes_computed(self, value: Value, axes: Sequence[int]) -> Value:
        """Some dimensions as an i64 list that is computed at run time."""
        return self.gather(self.shape_of(value), self.i64(list(axes)), 0)

    @abstractmethod
    def size_of(self, value: Value, axis: int) -> Value:
        """One dimension as an i64 scalar, which is constant if it is known."""

    @abstractmethod
    def reshape(self, value: Value, dims: Sequence[int]) -> Value:
        """Reshape; 0 copies a dimension, -1 is inferred."""

    @abstractmethod
    def reshape_to(self, value: Value, pattern: Value, *, special_zero: bool = True) -> Value:
        """Reshape `value` to the shape `pattern`, an i64 list.

        With `special_zero`, a 0 in `pattern` copies the dimension of `value` at the same position.
        """

    @abstractmethod
    def reshape_exactly(self, value: Value, pattern: Value, *, may_be_empty: bool) -> Value:
        """Reshape `value` to the shape `pattern`, in which a 0 means a size of 0.

        Only if `may_be_empty` is true, it can have a 0.
        """

    @abstractmethod
    def squeeze(self, value: Value, axes: Sequence[int]) -> Value:
        """Remove `axes`, each of which has size 1."""

    @abstractmethod
    def unsqueeze(self, value: Value, axes: Sequence[int]) -> Value:
        """Insert axes of size 1 at the given positions of the result."""

    def along_channels(self, vector: Value, rank: int) -> Value:
        """Reshape a vector for axis 1 so that it broadcasts to data of this rank."""
        return self.unsqueeze(vector, list(range(1, rank - 1))) if rank > 2 else vector

    @abstractmethod
    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """Transpose, unless `order` keeps the axes in place."""

    def moved(self, value: Value, source: int, target: int, rank: int) -> Value:
        """Move axis `source` of `value`, which has this rank, to position `target`."""
        rest = [axis for axis in range(rank) if axis != source]
        return self.transpose(value, [*rest[:target], source, *rest[target:]])

    def swap_last(self, value: Value) -> Value:
        """Swap the last two axes of a value of known rank."""
        last = len(static_shape(value).dims or ()) - 1
        return self.moved(value, last, last - 1, last + 1)

    @abstractmethod
    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Concatenate values; a single value is returned unchanged."""

    @abstractmethod
    def slice(
        self,
        value: Value,
        starts: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> Value:
        """Slice from `starts` to `ends` along `axes`."""

    @abstractmethod
    def part(self, value: Value, axis: int, start: int, end: int, step: int = 1) -> Value:
        """Slice one axis, in a form that every opset has.

        `axis` must not be negative, and neither `start` nor `end`, unless `step` is.
        """

    def reverse(self, value: Value, axis: int) -> Value:
        """Reverse the order of the elements along `axis`, which must not be negative."""
        return self.part(value, axis, -1, PAST_THE_FIRST, -1)

    @abstractmethod
    def gather(
        self, value: Value, indices: Value, axis: int, *, may_be_negative: bool = True
    ) -> Value:
        """Gather along an axis; negative indices count from the end."""

    def take(self, value: Value, indices: int | Sequence[int], axis: int) -> Value:
        """Gather constant indices of `axis`; a single integer removes the axis."""
        return self.gather(value, self.i64(indices), axis)

    @abstractmethod
    def tile(self, value: Value, repeats: Value) -> Value:
        """Tile along each axis; `repeats` is an i64 list."""
