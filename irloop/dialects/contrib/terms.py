"""Terms: the values with which `decompose` expresses an operation by standard operations.

An operation's `decompose` computes with terms. `Steps` either runs each standard operation on
arrays (the kernel), or appends it as a node to a new graph (import to IR, rewriting as standard
ONNX), so that the operation is defined in one place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from irloop.dialects.onnx.base import ONNX
from irloop.graph.op import Op
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["CannotDecomposeError", "Number", "ScanBody", "Steps", "Term", "WriteOut"]

Number = int | float


class CannotDecomposeError(ValueError):
    """Raised by `decompose`, with the reason, if standard operations cannot compute the result."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A value in a decomposition; arithmetic on it appends operations."""

    steps: Steps
    value: Any

    @property
    def element(self) -> ElementType:
        """The element type.

        Raises:
            CannotDecomposeError: if it is unknown.
        """
        return self.steps.element_of(self)

    @property
    def dims(self) -> tuple[int | None, ...]:
        """The dimensions; an unknown one is None.

        Raises:
            CannotDecomposeError: if the rank is unknown.
        """
        return self.steps.dims_of(self)

    @property
    def rank(self) -> int:
        """The number of dimensions.

        Raises:
            CannotDecomposeError: if it is unknown.
        """
        return len(self.dims)

    def dim(self, axis: int, what: str) -> int:
        """A dimension that must be known; `what` names it in the error.

        Raises:
            CannotDecomposeError: if it is unknown.
        """
        size = self.dims[axis]
        if size is None:
            raise CannotDecomposeError(f"{what} is not known; fix it with --shape")
        return size

    def constant(self) -> Array | None:
        """The value of the term as an array if it is constant, else None."""
        return self.steps.constant_of(self)

    def _with(self, type: str, other: Term | Number, *, swap: bool = False) -> Term:
        right = other if isinstance(other, Term) else self.steps.constant(other, self.element)
        pair = (right, self) if swap else (self, right)
        return self.steps.op(type, *pair)

    def __add__(self, other: Term | Number) -> Term:
        return self._with("Add", other)

    def __radd__(self, other: Number) -> Term:
        return self._with("Add", other, swap=True)

    def __sub__(self, other: Term | Number) -> Term:
        return self._with("Sub", other)

    def __rsub__(self, other: Number) -> Term:
        return self._with("Sub", other, swap=True)

    def __mul__(self, other: Term | Number) -> Term:
        return self._with("Mul", other)

    def __rmul__(self, other: Number) -> Term:
        return self._with("Mul", other, swap=True)

    def __truediv__(self, other: Term | Number) -> Term:
        return self._with("Div", other)

    def __matmul__(self, other: Term) -> Term:
        return self._with("MatMul", other)

    def __lt__(self, other: Term | Number) -> Term:
        return self._with("Less", other)

    def __gt__(self, other: Term | Number) -> Term:
        return self._with("Greater", other)


class Steps(ABC):
    """Applies standard operations to terms.

    `opset` is the ai.onnx opset to use, `n_outputs` the number of outputs of the decomposed
    operation. `is_graph` is true if operations become nodes and constants are stored in a graph.
    """

    is_graph: ClassVar[bool] = False

    def __init__(self, opset: int, n_outputs: int) -> None:
        self.opset = opset
        self.n_outputs = n_outputs

    @abstractmethod
    def apply(self, op: Op, inputs: Sequence[Term | None], n_outputs: int) -> list[Term]:
        """Apply one operation."""

    @abstractmethod
    def constant(self, data: Any, element: ElementType) -> Term:
        """A constant made from a number, a list or an array."""

    @abstractmethod
    def element_of(self, term: Term) -> ElementType:
        """The element type of a term."""

    @abstractmethod
    def dims_of(self, term: Term) -> tuple[int | None, ...]:
        """The dimensions of a term."""

    @abstractmethod
    def constant_of(self, term: Term) -> Array | None:
        """The value of a term that is constant, else None."""

    def known_element(self, term: Term | None) -> ElementType:
        """The element type of a term; DYNAMIC if it is unknown, or if there is no term."""
        try:
            return ElementType.DYNAMIC if term is None else self.element_of(term)
        except CannotDecomposeError:
            return ElementType.DYNAMIC

    def known_rank(self, term: Term) -> int | None:
        """The number of dimensions of a term, or None."""
        try:
            return len(self.dims_of(term))
        except CannotDecomposeError:
            return None

    @abstractmethod
    def scan(
        self,
        body: ScanBody,
        states: Sequence[Term],
        elements: Sequence[Term],
        fixed: Sequence[Term],
        *,
        reverse: bool,
    ) -> tuple[list[Term], Term]:
        """Call `body` for each position along axis 0 of the elements, from the last if `reverse`.

        `body` takes the steps to compute with, the states, the elements at the position, and the
        fixed terms; it must not use other terms. It returns the next states, of the same types, and
        an output of the shape of the first state. `scan` returns the last states, and the outputs
        stacked by position.
        """

    def op(self, type: str, *inputs: Term | None, **attributes: Any) -> Term:
        """The only (or first) output of an operation of ai.onnx."""
        return self.ops(type, *inputs, n_outputs=1, **attributes)[0]

    def ops(self, type: str, *inputs: Term | None, n_outputs: int, **attributes: Any) -> list[Term]:
        """Apply the ONNX operation `type` to `inputs`, and return its `n_outputs` outputs.

        The opset determines the version of the operation.

        Raises:
            CannotDecomposeError: when the opset does not have the operation.
        """
        cls = ONNX.find(type, self.opset)
        if cls is None:
            reason = f"it needs {type}, which opset {self.opset} of ai.onnx does not have"
            raise CannotDecomposeError(reason)
        return self.apply(cls(**attributes), inputs, n_outputs)

    # Constants and sizes

    def i64(self, data: int | Sequence[int]) -> Term:
        """An i64 constant."""
        return self.constant(data, ElementType.I64)

    def like(self, data: Any, term: Term) -> Term:
        """Make `data` a constant with the element type of `term`."""
        return self.constant(data, term.element)

    def size(self, x: Term, axis: int) -> Term:
        """One dimension, as a one-element i64 vector."""
        known = x.dims[axis]
        if known is not None:
            return self.i64([known])
        axis %= x.rank
        return self.slice(self.op("Shape", x), 0, axis, axis + 1)

    def scalar(self, x: Term) -> Term:
        """A one-element tensor reshaped to a scalar."""
        return x if self.known_rank(x) == 0 else self.reshape(x, [])

    def vector(self, items: Sequence[int | Term]) -> Term:
        """An i64 vector from integers and one-element vectors."""
        if all(isinstance(item, int) for item in items):
            return self.i64([item for item in items if isinstance(item, int)])
        parts = [self.i64([item]) if isinstance(item, int) else item for item in items]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    # Shapes

    def reshape(self, x: Term, dims: Sequence[int | Term] | Term) -> Term:
        """Reshape; 0 copies a dimension, -1 is inferred."""
        return self.op("Reshape", x, dims if isinstance(dims, Term) else self.vector(dims))

    def transpose(self, x: Term, perm: Sequence[int]) -> Term:
        """Permute the axes."""
        return self.op("Transpose", x, perm=tuple(perm))

    def swap_last(self, x: Term) -> Term:
        """Swap the last two axes."""
        rank = x.rank
        return self.transpose(x, (*range(rank - 2), rank - 1, rank - 2))

    def unsqueeze(self, x: Term, *axes: int) -> Term:
        """Insert axes of size 1."""
        if self.opset < 13:
            return self.op("Unsqueeze", x, axes=axes)
        return self.op("Unsqueeze", x, self.i64(axes))

    def squeeze(self, x: Term, *axes: int) -> Term:
        """Remove axes of size 1."""
        if self.opset < 13:
            return self.op("Squeeze", x, axes=axes)
        return self.op("Squeeze", x, self.i64(axes))

    def expand(self, x: Term, dims: Sequence[int | Term]) -> Term:
        """Broadcast to a shape."""
        return self.op("Expand", x, self.vector(dims))

    def concat(self, axis: int, *parts: Term) -> Term:
        """Concatenate along an axis."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def slice(self, x: Term, axis: int, start: int | Term, end: int | Term | None = None) -> Term:
        """The elements from `start` up to, but excluding, `end` along an axis.

        If `end` is None, the result has all elements from `start` on. A bound that is a term is a
        one-element vector.
        """
        last = 2**31 - 1 if end is None else end
        bounds = (self.vector([start]), self.vector([last]), self.i64([axis]))
        return self.op("Slice", x, *bounds)

    def split(self, x: Term, axis: int, sizes: Sequence[int]) -> list[Term]:
        """Split into parts of the given sizes along an axis."""
        if self.opset < 13:
            return self.ops("Split", x, n_outputs=len(sizes), axis=axis, split=tuple(sizes))
        return self.ops("Split", x, self.i64(sizes), n_outputs=len(sizes), axis=axis)

    def gather(self, x: Term, indices: Term, axis: int) -> Term:
        """The elements at indices along an axis."""
        return self.op("Gather", x, indices, axis=axis)

    def range(self, start: int | Term, end: Term) -> Term:
        """Return the i64 integers from `start` up to, but excluding, `end`.

        A bound that is a term is a one-element vector.
        """
        first = self.i64(start) if isinstance(start, int) else self.scalar(start)
        return self.op("Range", first, self.scalar(end), self.i64(1))

    # Elements

    def convert(self, x: Term, element: ElementType) -> Term:
        """Cast to an element type; x itself if it already has this type."""
        return x if x.element is element else self.op("Cast", x, to=element)

    def select(self, condition: Term, then: Term | Number, other: Term | Number) -> Term:
        """Elements of `then` where the condition holds, else of `other`.

        At least one of `then` and `other` must be a term; the other may be a number.
        """
        given = then if isinstance(then, Term) else other
        assert isinstance(given, Term)
        first, second = (
            item if isinstance(item, Term) else self.like(item, given) for item in (then, other)
        )
        return self.op("Where", condition, first, second)

    def reduce(self, type: str, x: Term, axes: Sequence[int], *, keep: bool = True) -> Term:
        """ReduceMean, ReduceSum, ReduceMax and so on over axes."""
        by_input = 13 if type == "ReduceSum" else 18
        if self.opset < by_input:
            return self.op(type, x, axes=tuple(axes), keepdims=keep)
        return self.op(type, x, self.i64(axes), keepdims=keep)

    def softmax(self, x: Term) -> Term:
        """Softmax along the last axis."""
        return self.op("Softmax", x, axis=-1)

    def clip(self, x: Term, low: Number, high: Number) -> Term:
        """Limit the elements to a range."""
        return self.op("Clip", x, self.like(low, x), self.like(high, x))

    def maximum(self, x: Term, y: Term) -> Term:
        """The elementwise maximum of `x` and `y`."""
        if self.opset < 12 and not x.element.is_float:
            return self.select(x > y, x, y)
        return self.op("Max", x, y)

    def minimum(self, x: Term, y: Term) -> Term:
        """The elementwise minimum of `x` and `y`."""
        if self.opset < 12 and not x.element.is_float:
            return self.select(x < y, x, y)
        return self.op("Min", x, y)

    def square(self, x: Term) -> Term:
        """x * x."""
        return self.op("Mul", x, x)


#: One iteration of a scan: maps steps, states, elements and fixed terms to the next states and an
#: output.
ScanBody = Callable[
    [Steps, "Sequence[Term]", "Sequence[Term]", "Sequence[Term]"], "tuple[Sequence[Term], Term]"
]

#: A function that decomposes an operation: maps its inputs (None if omitted) to its outputs.
WriteOut = Callable[[Steps, "Sequence[Term | None]"], "Sequence[Term | None]"]
