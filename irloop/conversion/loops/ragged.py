"""Represents a sequence of tensors of one rank and of any sizes as a list of all their elements.

A table beside the list has the sizes of the items, a row for each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import Converted, RefusedError
from irloop.conversion.framework.virtual_values import Items, Ragged, Stacked
from irloop.conversion.loops.stacks import may_differ
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.slices import TO_THE_END
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, SequenceType, Shape, TensorType, ValueType

__all__ = [
    "as_ragged",
    "concatenated",
    "is_ragged",
    "item_of_any_size",
    "ragged_types",
    "types_of",
    "with_item",
    "without_item",
]

I64 = ElementType.I64


def is_ragged(*parts: Converted) -> bool:
    """Return whether sequences and items together are known to have several sizes."""
    if any(isinstance(part, Ragged) for part in parts):
        return True
    items = [part for part in parts if isinstance(part, Value)]
    for part in parts:
        items += part.values if isinstance(part, Items) else ()
    return may_differ(items)


def ragged_types(type: ValueType) -> tuple[TensorType, TensorType] | None:
    """The types of the elements and of the sizes of a sequence; None if its rank is not known.

    Items without axes have one shape, so they need no sizes: the result is None for them, too.
    """
    tensor = type.item if isinstance(type, SequenceType) else type
    if not isinstance(tensor, TensorType) or not tensor.shape.rank:
        return None
    if tensor.element in (ElementType.DYNAMIC, ElementType.STRING):
        return None
    return TensorType(tensor.element, Shape.of(None)), TensorType(
        I64, Shape.of(None, tensor.shape.rank)
    )


def types_of(sequence: Ragged) -> tuple[TensorType, TensorType]:
    """The types that both lists have in each iteration of a loop."""
    rank = shape_of(sequence.sizes).dim(1)
    element = element_of(sequence.elements)
    return TensorType(element, Shape.of(None)), TensorType(I64, Shape.of(None, rank))


def as_ragged(c: Import, value: Converted, type: ValueType) -> Ragged:
    """Return the sequence `value` with its items as one list; `type` is its type in ONNX.

    Raises:
        RefusedError: when the rank of the items is not known.
    """
    if isinstance(value, Ragged):
        return value
    if isinstance(value, Items) and value.values:
        return _listed(c, value.values)
    types = ragged_types(type)
    if types is None:
        raise RefusedError(
            "its items differ in size, and their rank is not known",
            "declare the shapes of the tensors that are inserted",
        )
    elements, sizes = types
    rank = sizes.shape.dim(1)
    assert isinstance(rank, int)
    if isinstance(value, Stacked):
        first, rest = (c.sizes_of(value.tensor, places) for places in ([0], range(1, rank + 1)))
        table = c.broadcast(rest, c.concat([first, c.i64([rank])], 0))
        return Ragged(c.reshape(value.tensor, [-1]), table)
    if not isinstance(value, Items):
        raise RefusedError(f"{value} is not a sequence of tensors")
    nothing = ArrayTensor(np.zeros(0, elements.element.numpy()), elements.element)
    return Ragged(c.tensor(nothing), c.tensor(ArrayTensor(np.zeros((0, rank), np.int64), I64)))


def _listed(c: Import, items: Sequence[Value]) -> Ragged:
    """Represent items of one rank, of which there is at least one."""
    elements = [c.reshape(item, [-1]) for item in items]
    sizes = [c.unsqueeze(c.shape_of(item), [0]) for item in items]
    if len(items) == 1:
        return Ragged(elements[0], sizes[0])
    return Ragged(c.concat(elements, 0), c.concat(sizes, 0))


def item_of_any_size(c: Import, sequence: Ragged, position: Value) -> Value:
    """The item at a computed position, which may count from the end."""
    place = c.as_list(c.as_i64(position))
    place = c.non_negative(place, sequence.sizes, 0)
    ends = _ends(c, sequence)
    start, end = c.gather(ends, place, 0), c.gather(ends, c.add(place, c.i64([1])), 0)
    elements = c.slice_by(sequence.elements, start, end, [0], c.i64([1]))
    shape = c.squeeze(c.gather(sequence.sizes, place, 0), [0])
    if shape_of(shape).static() == (1,):
        return elements
    return c.reshape_to(elements, shape, special_zero=False)


def _ends(c: Import, sequence: Ragged) -> Value:
    """A list of the places in the list of elements where items begin, and of its end."""
    is_list = shape_of(sequence.sizes).dim(1) == 1
    sizes = sequence.sizes
    counts = c.squeeze(sizes, [1]) if is_list else c.reduce("Prod", sizes, [1], keep=False)
    return c.concat([c.i64([0]), c(CumSum(), counts, c.i64(0))], 0)


def with_item(c: Import, sequence: Ragged, item: Value, position: Value | None) -> Ragged:
    """Insert an item before `position`, or at the end if `position` is None."""
    more = _listed(c, [item])
    if position is None:
        return _joined(c, [sequence, more])
    before, after = _divided(c, sequence, position, 0)
    return _joined(c, [before, more, after])


def without_item(c: Import, sequence: Ragged, position: Value | None) -> Ragged:
    """Remove the item at `position`, or the last item if `position` is None."""
    return _joined(c, _divided(c, sequence, c.i64(-1) if position is None else position, 1))


def _joined(c: Import, parts: Sequence[Ragged]) -> Ragged:
    return Ragged(
        c.concat([part.elements for part in parts], 0), c.concat([part.sizes for part in parts], 0)
    )


def _divided(c: Import, sequence: Ragged, position: Value, left_out: int) -> tuple[Ragged, Ragged]:
    """The items before `position`, and those from there on, without the first `left_out`."""
    place = c.non_negative(c.as_list(c.as_i64(position)), sequence.sizes, 0)
    following = c.add(place, c.i64([left_out])) if left_out else place
    ends, zero, last, one = _ends(c, sequence), c.i64([0]), c.i64([TO_THE_END]), c.i64([1])
    cut, resumed = c.gather(ends, place, 0), c.gather(ends, following, 0)
    before = Ragged(
        c.slice_by(sequence.elements, zero, cut, [0], one),
        c.slice_by(sequence.sizes, zero, place, [0], one),
    )
    after = Ragged(
        c.slice_by(sequence.elements, resumed, last, [0], one),
        c.slice_by(sequence.sizes, following, last, [0], one),
    )
    return before, after


def concatenated(c: Import, sequence: Ragged, axis: int, *, new_axis: bool) -> Value:
    """The items joined along `axis`, or stacked along a new one.

    Raises:
        RefusedError: when they are joined along another existing axis than the first one.
    """
    rank = shape_of(sequence.sizes).dim(1)
    assert isinstance(rank, int)
    first = c.squeeze(c.gather(sequence.sizes, c.i64([0]), 0), [0])
    if new_axis:
        count = c.sizes_of(sequence.sizes, [0])
        stack = c.reshape_to(sequence.elements, c.concat([count, first], 0), special_zero=False)
        return c.moved(stack, 0, axis % (rank + 1), rank + 1)
    if axis % rank:
        raise c.refuse(
            f"items of different sizes are joined along axis {axis}", "join them along axis 0"
        )
    if rank == 1:
        return sequence.elements
    heights = c.gather(sequence.sizes, c.i64([0]), 1)
    height = c.reshape(c.reduce("Sum", heights, [0]), [1])
    rest = c.gather(first, c.i64([*range(1, rank)]), 0)
    return c.reshape_to(sequence.elements, c.concat([height, rest], 0), special_zero=False)
