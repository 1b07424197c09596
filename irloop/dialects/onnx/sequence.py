"""Sequence and optional operations in ONNX.

SequenceMap has no class, because the standard defines it by a function: the reader replaces it by
the Loop in that function.
"""

from __future__ import annotations

import math
from functools import partial

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Parts
from irloop.graph.op import Kernel
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    UNKNOWN_TYPE,
    Dim,
    ElementType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    ValueType,
    differ_in_shape,
    widen_types,
)

__all__ = [
    "ConcatFromSequence",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SplitToSequence",
]

_LENGTH = TensorType(ElementType.I64, Shape(()))
_TRUTH = TensorType(ElementType.BOOLEAN, Shape(()))


def _sequence(args: Arguments) -> SequenceType:
    """The type of input 0, a sequence.

    Raises:
        InferenceError: when the input is known not to be a sequence.
    """
    type = args.type(0)
    if isinstance(type, SequenceType):
        return type
    if type == UNKNOWN_TYPE:
        return SequenceType(UNKNOWN_TYPE)
    raise args.error("input 0 is not a sequence", "a sequence", str(type))


def _joined(args: Arguments, left: ValueType, right: ValueType) -> ValueType:
    """The common item type of a sequence that holds items of two types.

    Raises:
        InferenceError: when their element types differ.
    """
    if isinstance(left, TensorType) and isinstance(right, TensorType):
        if ElementType.DYNAMIC in (left.element, right.element):
            element = right.element if left.element is ElementType.DYNAMIC else left.element
            return TensorType(element, left.shape.widen(right.shape))
        if left.element is not right.element:
            raise args.error(
                "items of one sequence differ in element type",
                str(left.element),
                str(right.element),
                kind="elements",
            )
    return widen_types(left, right)


def _as_element(tensor: ValueType, joined: ValueType) -> ValueType:
    """Return the type `tensor` with the element type of `joined`.

    If one of the two is not a tensor type, `tensor` is returned unchanged.
    """
    if not isinstance(tensor, TensorType) or not isinstance(joined, TensorType):
        return tensor
    return TensorType(joined.element, tensor.shape)


def _require_scalar(args: Arguments, position: int) -> None:
    if not args.has(position):
        return
    rank = args.rank(position)
    if rank not in (None, 0) and args.shape(position).count() not in (None, 1):
        raise args.error(f"input {position} is not a scalar", "[]", str(args.shape(position)))


class SequenceConstruct(OnnxOp, type="SequenceConstruct", since=11, inputs=(1, None)):
    """A sequence of its inputs (SequenceConstruct-11)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        joined, mixed = args.type(0), False
        for position in range(1, len(args)):
            other = args.type(position)
            mixed = mixed or differ_in_shape(joined, other)
            joined = _joined(args, joined, other)
        return [SequenceType(joined, len(args), mixed)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.construct


class SequenceEmpty(OnnxOp, type="SequenceEmpty", since=11, inputs=0):
    """An empty sequence of tensors of element type `dtype` (SequenceEmpty-11)."""

    dtype: ElementType = ElementType.F32

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.dtype is ElementType.DYNAMIC:
            raise args.error("dtype is no element type", "an element type", "0", kind="range")
        return [SequenceType(TensorType(self.dtype, UNKNOWN_SHAPE), 0)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.empty


class SequenceLength(OnnxOp, type="SequenceLength", since=11, inputs=1):
    """The number of items of a sequence (SequenceLength-11)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        _sequence(args)
        return [_LENGTH]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        length = _sequence(args).length
        return None if length is None else (length,)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.length


class SequenceAt(OnnxOp, type="SequenceAt", since=11, inputs=2):
    """One item of a sequence; negative positions count from its end (SequenceAt-11)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        _require_scalar(args, 1)
        return [_sequence(args).item]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.at


class SequenceInsert(OnnxOp, type="SequenceInsert", since=11, inputs=(2, 3)):
    """Inserts an item into a sequence, before a position or at the end (SequenceInsert-11)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        _require_scalar(args, 2)
        sequence, inserted = _sequence(args), args.type(1)
        length = None if sequence.length is None else sequence.length + 1
        joined = _joined(args, sequence.item, inserted)
        if sequence.length == 0:
            # If the sequence is empty, no shape contradicts that of the first item.
            return [SequenceType(_as_element(inserted, joined), length)]
        mixed = sequence.mixed or differ_in_shape(sequence.item, inserted)
        return [SequenceType(joined, length, mixed)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.insert


class SequenceErase(OnnxOp, type="SequenceErase", since=11, inputs=(1, 2)):
    """Removes from a sequence the item at a position, or the last item (SequenceErase-11)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        _require_scalar(args, 1)
        given = _sequence(args)
        length = None if given.length is None else max(given.length - 1, 0)
        return [SequenceType(given.item, length, given.mixed)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.erase


class SplitToSequence(OnnxOp, type="SplitToSequence", since=11, inputs=(1, 2)):
    """Splits a tensor along an axis into a sequence (SplitToSequence-11, 24).

    `split` (input 1) is one size for all parts, or a list of sizes. Without it the parts have size
    1 and lose the axis when `keepdims` is 0; with it `keepdims` is ignored.
    """

    meanings = (Parts(1),)

    axis: int = 0
    keepdims: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        type = args.tensor(0)
        if type.shape.dims is None:
            return [SequenceType(TensorType(type.element, UNKNOWN_SHAPE))]
        rank = len(type.shape.dims)
        if not -rank <= self.axis < rank:
            raise args.error(
                "axis is out of range", f"{-rank}..{rank - 1}", str(self.axis), kind="range"
            )
        axis = self.axis % rank
        total = type.shape.dims[axis]
        if not args.has(1) and not self.keepdims:
            dims = (*type.shape.dims[:axis], *type.shape.dims[axis + 1 :])
            length = total if isinstance(total, int) else None
            return [SequenceType(TensorType(type.element, Shape(dims)), length)]
        part, length, mixed = self._parts(args, total)
        item = TensorType(type.element, type.shape.with_dim(axis, part))
        return [SequenceType(item, length, mixed)]

    def _parts(self, args: Arguments, total: Dim) -> tuple[Dim, int | None, bool]:
        """Return the size of each part, the number of parts, and whether their sizes differ.

        The size is `UNKNOWN_DIM` if it is not known or not the same for all parts. The number is
        None if it is not known.
        """
        if not args.has(1):
            return 1, total if isinstance(total, int) else None, False
        sizes = args.ints(1)
        if sizes is None:
            many = args.shape(1).count() if args.rank(1) == 1 else None
            return UNKNOWN_DIM, many, False
        if args.rank(1) == 0:
            inference.require_within(args, 1, 1, math.inf, "the size of a part")
            if not isinstance(total, int):
                return UNKNOWN_DIM, None, False
            whole, rest = divmod(total, sizes[0])
            mixed = bool(rest and whole)
            return UNKNOWN_DIM if rest else sizes[0], whole + bool(rest), mixed
        if isinstance(total, int) and (sum(sizes) != total or min(sizes, default=0) < 0):
            raise args.error("the parts do not add up to the axis", str(total), str(list(sizes)))
        differ = len(set(sizes)) > 1
        return sizes[0] if sizes and not differ else UNKNOWN_DIM, len(sizes), differ

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return partial(kernels.sequence.split, axis=self.axis, keepdims=bool(self.keepdims))


class ConcatFromSequence(OnnxOp, type="ConcatFromSequence", since=11, inputs=1):
    """Concatenates or stacks the items of a sequence (ConcatFromSequence-11).

    With `new_axis` 1 the items are stacked along a new axis.
    """

    axis: int
    new_axis: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        type = _sequence(args).item
        if not isinstance(type, TensorType):
            raise args.error("the items are not tensors", "a sequence of tensors", str(type))
        if type.shape.dims is None:
            return [TensorType(type.element, UNKNOWN_SHAPE)]
        dims = type.shape.dims
        rank = len(dims) + (1 if self.new_axis else 0)
        if not -rank <= self.axis < rank:
            raise args.error(
                "axis is out of range", f"{-rank}..{rank - 1}", str(self.axis), kind="range"
            )
        axis = self.axis % rank
        rest = dims[axis:] if self.new_axis else dims[axis + 1 :]
        return [TensorType(type.element, Shape((*dims[:axis], UNKNOWN_DIM, *rest)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        new_axis = bool(self.new_axis)
        return partial(kernels.sequence.concat, axis=self.axis, new_axis=new_axis)


class Optional(OnnxOp, type="Optional", since=15, inputs=(0, 1)):
    """An optional that holds its input, or that is empty if there is no input (Optional-15).

    The attribute `type`, which declares the type of an empty optional, is kept in the node's
    attributes.
    """

    def infer(self, args: Arguments) -> list[ValueType]:
        return [OptionalType(args.type(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.optional


class OptionalHasElement(OnnxOp, type="OptionalHasElement", since=15, inputs=(0, 1)):
    """True if an optional is not empty (OptionalHasElement-15, 18).

    Since opset 18 this is also true for a tensor or a sequence, and false for a missing input.
    """

    def infer(self, args: Arguments) -> list[ValueType]:
        return [_TRUTH]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.has_element


class OptionalGetElement(OnnxOp, type="OptionalGetElement", since=15, inputs=1):
    """Returns the value in an optional (OptionalGetElement-15, 18).

    Since opset 18 the input may also be a tensor or a sequence, which is returned unchanged.
    """

    def infer(self, args: Arguments) -> list[ValueType]:
        type = args.type(0)
        return [type.item if isinstance(type, OptionalType) else type]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sequence.get_element
