"""Writes operations whose axes the model computes, for opsets in which axes are attributes.

The selected axes are represented by a list of booleans, one for each axis. A reduction is emitted
for every axis, and a Slice selects the reduced or the unreduced values. Dimensions are removed or
inserted by a Reshape to a shape that is computed from the booleans.
"""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.dialects.onnx.gather import Compress
from irloop.dialects.onnx.search import CumSum
from irloop.dialects.writing.known_inputs import length, needed_rank
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["reduced", "squeezed", "unsqueezed"]


def _marks(c: Export, axes: Value, rank: int) -> Value:
    """A list of `rank` booleans, true for the axes that are listed in `axes`.

    Negative axes count from the end.
    """
    listed = c.as_list(axes)
    turned = c.select(c.less(listed, c.i64([0])), c.add(listed, c.i64([rank])), listed)
    matches = c.equal(c.i64([[axis] for axis in range(rank)]), turned)
    hits = c.reduce("Sum", c.convert(matches, ElementType.I32), [1], keep=False)
    return c.less(c.constant([0], ElementType.I32), hits)


def squeezed(c: Export, value: Value, axes: Value) -> Value:
    """Remove the axes of size 1 at the computed positions `axes`.

    Raises:
        RefusedError: when the rank is not known.
    """
    return _without(c, value, axes, _marks(c, axes, needed_rank(c, value)))


def _without(c: Export, value: Value, axes: Value, marks: Value) -> Value:
    kept = c(Compress(axis=0), c.shape_of(value), c.logical_not(marks))
    removed = length(axes)
    if removed is not None:
        # This Reshape makes the rank of the result known.
        kept = c.reshape(kept, [needed_rank(c, value) - removed])
    return c.reshape_to(value, kept, special_zero=c.opset < 14)


def unsqueezed(c: Export, value: Value, axes: Value) -> Value:
    """Insert axes of size 1 at positions that the model computes at run time.

    `axes` holds the positions of the new axes in the result, as for Unsqueeze.

    Raises:
        RefusedError: when the rank or the number of axes is not known.
    """
    rank, added = needed_rank(c, value), length(axes)
    if added is None:
        raise c.refuse("the number of its axes is not known", opset=13)
    if rank == 0:
        return c.reshape(value, [1] * added)
    marks = _marks(c, axes, rank + added)
    old = c.convert(c.logical_not(marks), ElementType.I32)
    # For each position, the old axis: the number of old axes up to this position, minus one.
    place = c.subtract(c(CumSum(), old, c.i64(0)), c.constant([1], ElementType.I32))
    first = c.maximum(c.as_i64(place), c.i64([0]))
    dims = c.gather(c.shape_of(value), first, 0)
    pattern = c.select(marks, c.i64([1]), dims)
    return c.reshape_to(value, pattern, special_zero=c.opset < 14)


def reduced(c: Export, kind: str, value: Value, axes: Value, *, keep: bool = True) -> Value:
    """Emit a reduction over axes that the model computes at run time.

    `kind` is the kind of reduction, for example "Sum" or "Mean". If `axes` is empty at run time,
    nothing is reduced.

    In opsets whose reductions take axes only as an attribute, `value` is reduced along one axis
    after another. For each axis, the model then selects the reduced values if the axis is in
    `axes`, and the values before the reduction otherwise.

    Raises:
        RefusedError: when the opset has no axes input and the rank is not known.
    """
    if c.opset >= (13 if kind == "Sum" else 18):
        return c.reduce_computed(kind, value, axes, keep=keep)
    rank = needed_rank(c, value)
    marks = _marks(c, axes, rank)
    shape = c.shape_of(value)
    one_kind = "Sum" if kind == "Mean" else kind
    starts = c.select(marks, c.i64([0]), c.i64([1]))
    ends = c.select(marks, c.i64([1]), c.add(shape, c.i64([1])))
    result = value
    for axis in range(rank):
        # Concatenate the reduced and the unreduced values, so that a slice selects one of them.
        both = c.concat([c.reduce(one_kind, result, [axis]), result], axis)
        start, end = (c.gather(ends_of, c.i64([axis]), 0) for ends_of in (starts, ends))
        result = c.slice_by(both, start, end, c.i64([axis]))
    if kind == "Mean":
        counted = c.select(marks, shape, c.i64([1]))
        count = c.reduce("Prod", counted, [0], keep=False)
        result = c.divide(result, c.convert(count, element_of(value)))
    return result if keep else _without(c, result, axes, marks)
