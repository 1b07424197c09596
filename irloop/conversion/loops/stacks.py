"""Represents a sequence of tensors of one shape as one tensor whose first axis counts the items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import Conversion, Converted, RefusedError
from irloop.conversion.framework.virtual_values import Items, Stacked
from irloop.dialects.slices import TO_THE_END
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, SequenceType, Shape, TensorType, ValueType

__all__ = [
    "as_items",
    "as_stack",
    "erased",
    "inserted",
    "joined",
    "may_differ",
    "stack_type",
    "stacked",
]

COUNTED_LATE = "the number of items of its sequence is known only at run time"


def stacked(c: Conversion, items: Sequence[Value]) -> Value:
    """Stack tensors of equal shapes along a new first axis."""
    return c.concat([c.unsqueeze(item, [0]) for item in items], 0)


def may_differ(items: Sequence[Value]) -> bool:
    """Return whether all items have one known rank, but not all the same declared shape."""
    shapes = [shape_of(item) for item in items]
    ranks = {shape.rank for shape in shapes}
    if len(ranks) != 1 or None in ranks:
        return False
    return any(shape != shapes[0] for shape in shapes)


def stack_type(type: ValueType) -> TensorType:
    """The type of the tensor that holds any number of items of a sequence.

    Raises:
        RefusedError: when the items differ in shape, or their rank or element type is unknown.
    """
    element = type.item if isinstance(type, SequenceType) else None
    if isinstance(type, SequenceType) and type.mixed:
        raise RefusedError(
            f"{COUNTED_LATE}, and the items differ in shape; a tensor holds items of one shape "
            "only",
            "give all items of the sequence one shape, for example by padding them",
        )
    if not isinstance(element, TensorType) or element.element is ElementType.DYNAMIC:
        raise RefusedError(f"{COUNTED_LATE}, and the element type of the items is not known")
    if element.shape.dims is None:
        raise RefusedError(
            f"{COUNTED_LATE}, and the rank of the items is not known",
            "declare the shapes of the tensors that are inserted",
        )
    # In the body of a loop the same name of a dimension could mean another size.
    dims = [dim if isinstance(dim, int) else None for dim in element.shape.dims]
    return TensorType(element.element, Shape.of(None, *dims))


def as_stack(c: Conversion, value: Converted, type: ValueType) -> Stacked:
    """Return the sequence `value` as a stack: one tensor with its items along the first axis.

    `type` is the type of the sequence; it gives the shape and element type of an empty stack.

    Raises:
        RefusedError: when the items have no common shape, or their shape is unknown.
    """
    if isinstance(value, Stacked):
        return value
    if not isinstance(value, Items):
        name = repr(value.name) if isinstance(value, Value) else str(value)
        raise RefusedError(f"{name} is not a sequence that a tensor can hold")
    if value.values:
        _require_one_shape(value.values)
        return Stacked(stacked(c, value.values))
    wanted = stack_type(type)
    dims = [0, *(dim if isinstance(dim, int) else 0 for dim in (wanted.shape.dims or ())[1:])]
    return Stacked(c.tensor(ArrayTensor(np.zeros(dims, wanted.element.numpy()), wanted.element)))


def _require_one_shape(items: Sequence[Value]) -> None:
    common: Shape | None = Shape(None)
    for item in items:
        common = None if common is None else common.refine(shape_of(item))
    if common is None:
        shapes = ", ".join(str(shape_of(item)) for item in items)
        raise RefusedError(
            f"its items have the shapes {shapes}; a tensor holds items of one shape only",
            "give all items of the sequence one shape, for example by padding them",
        )


def as_items(c: Import, value: Converted, count: int) -> list[Value]:
    """Split a sequence of `count` items into its tensors.

    Raises:
        RefusedError: when the sequence is known to have another number of items.
    """
    if isinstance(value, Stacked):
        parts = c.variadic_split(value.tensor, 0, [1] * count) if count else []
        return [c.squeeze(part, [0]) for part in parts]
    if not isinstance(value, Items) or len(value.values) != count:
        raise RefusedError(f"{value} is not a sequence of {count} tensors")
    return list(value.values)


def inserted(c: Import, stack: Value, element: Value, position: Value | None) -> Value:
    """Insert an item before `position`, or at the end if `position` is None.

    Raises:
        RefusedError: when the shape of the item contradicts the shape of the other items.
    """
    shape = shape_of(stack)
    others = Shape(None) if shape.dims is None else Shape(shape.dims[1:])
    if others.refine(shape_of(element)) is None:
        raise RefusedError(
            f"an item of shape {shape_of(element)} is inserted among items of shape {others}; "
            "a tensor holds items of one shape only",
            "give all items of the sequence one shape, for example by padding them",
        )
    more = c.unsqueeze(element, [0])
    if position is None:
        return joined(c, [stack, more])
    at = c.as_list(c.as_i64(position))
    before, after = _before(c, stack, at), _from(c, stack, at)
    return joined(c, [before, more, after])


def erased(c: Import, stack: Value, position: Value | None) -> Value:
    """Remove the slice at `position` of the first axis of `stack`; None removes the last slice."""
    if position is None:
        return _before(c, stack, c.i64([-1]))
    index = c.as_list(c.as_i64(position))
    known = c.constant_of(index)
    if known is not None and int(known[0]) == -1:
        return _before(c, stack, index)
    if known is None:
        index = c.non_negative(index, stack, 0)
    after = _from(c, stack, c.add(index, c.i64([1])))
    return c.concat([_before(c, stack, index), after], 0)


def _before(c: Import, stack: Value, end: Value) -> Value:
    return c.slice_by(stack, c.i64([0]), end, [0], c.i64([1]))


def _from(c: Import, stack: Value, start: Value) -> Value:
    return c.slice_by(stack, start, c.i64([TO_THE_END]), [0], c.i64([1]))


def joined(c: Import, parts: Sequence[Value], axis: int = 0) -> Value:
    """Concatenate parts along `axis`, even if the other dimensions of an empty part do not fit.

    For example, a state that starts empty may have the shape [0, 1] at run time. Beside a part of
    shape [4, 3], it is reshaped to [0, 3]. A part is left as it is if it is never empty, or if its
    other dimensions are known in advance.
    """
    filled = [part for part in parts if _never_empty(part, axis)]
    fitted = []
    for part in parts:
        others = [other for other in filled or parts if other is not part]
        needs = others and not _never_empty(part, axis) and not _has_known_items(part, axis)
        fitted.append(_with_item_dims(c, part, others[0], axis) if needs else part)
    return c.concat(fitted, axis)


def _never_empty(part: Value, axis: int) -> bool:
    shape = shape_of(part)
    count = shape.dim(axis)
    return isinstance(count, int) and count > 0


def _has_known_items(part: Value, axis: int) -> bool:
    """Return whether `part` need not be reshaped to fit other parts, or cannot be.

    It need not if all dimensions except that of `axis` are known. It cannot if the rank is unknown.
    """
    dims = shape_of(part).dims
    return dims is None or all(isinstance(dim, int) for dim in (*dims[:axis], *dims[axis + 1 :]))


def _with_item_dims(c: Import, part: Value, other: Value, axis: int) -> Value:
    """Reshape an empty `part` so that all its dimensions except `axis` are those of `other`.

    A part is empty if `axis` has size 0 at run time; it keeps this size. For example, with axis 0,
    a part of [0, 1] beside another of [4, 3] becomes [0, 3]. Any other part keeps its shape.
    """
    rank = shape_of(part).rank
    own, dims = c.shape_of(part), c.shape_of(other)
    empty = c.equal(c.gather(own, c.i64([axis]), 0), c.i64([0]))
    # A Concat would be shorter, but OpenVINO 2026.4 computes a Concat of numbers gathered from two
    # shapes wrongly.
    kept = [int(at != axis) for at in range(rank or 1)]
    pattern = c.select(empty, c.multiply(dims, c.i64(kept)), own)
    value = c.reshape_to(part, pattern, special_zero=False)
    if shape_of(value).dims is None:
        c.inference.declare(value, TensorType(element_of(part), Shape.of_rank(rank or 1)))
    return value
