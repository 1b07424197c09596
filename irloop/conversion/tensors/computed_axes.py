"""Writes operations whose axes the model computes, for opsets in which axes are attributes.

The selected axes are represented by a list of booleans, one for each axis. A reduction is emitted
for every axis, and a Slice selects the reduced or the unreduced values. Dimensions are removed or
inserted by a Reshape to a shape that is computed from the booleans.
"""

from __future__ import annotations

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.framework.known_inputs import length, needed_rank
from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx.gather import Compress
from irloop.dialects.onnx.search import CumSum
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["reduce", "squeeze", "unsqueeze"]


def _marks(c: Conversion, axes: Value, rank: int) -> Value:
    """A list of `rank` booleans, true for the axes that are listed in `axes`.

    Negative axes count from the end.
    """
    listed = forms.as_list(c, axes)
    turned = forms.select(
        c, forms.less(c, listed, c.i64([0])), forms.add(c, listed, c.i64([rank])), listed
    )
    matches = forms.equal(c, c.i64([[axis] for axis in range(rank)]), turned)
    hits = forms.reduce(c, "Sum", forms.convert(c, matches, ElementType.I32), [1], keep=False)
    return forms.less(c, c.constant([0], ElementType.I32), hits)


def squeeze(c: Conversion, value: Value, axes: Value) -> Value:
    """Remove the axes of size 1 at the computed positions `axes`.

    Raises:
        RefusedError: when the rank is not known.
    """
    return _without(c, value, axes, _marks(c, axes, needed_rank(c, value)))


def _without(c: Conversion, value: Value, axes: Value, marks: Value) -> Value:
    kept = c(Compress(axis=0), forms.shape_of(c, value), forms.logical_not(c, marks))
    removed = length(axes)
    if removed is not None:
        # This Reshape makes the rank of the result known.
        kept = forms.reshape(c, kept, [needed_rank(c, value) - removed])
    return forms.reshape_to(c, value, kept, special_zero=c.opset < 14)


def unsqueeze(c: Conversion, value: Value, axes: Value) -> Value:
    """Insert axes of size 1 at positions that the model computes at run time.

    `axes` holds the positions of the new axes in the result, as for Unsqueeze.

    Raises:
        RefusedError: when the rank or the number of axes is not known.
    """
    rank, added = needed_rank(c, value), length(axes)
    if added is None:
        raise c.refuse("the number of its axes is not known", opset=13)
    if rank == 0:
        return forms.reshape(c, value, [1] * added)
    marks = _marks(c, axes, rank + added)
    old = forms.convert(c, forms.logical_not(c, marks), ElementType.I32)
    # For each position, the old axis: the number of old axes up to this position, minus one.
    place = forms.subtract(c, c(CumSum(), old, c.i64(0)), c.constant([1], ElementType.I32))
    first = forms.maximum(c, forms.as_i64(c, place), c.i64([0]))
    dims = forms.gather(c, forms.shape_of(c, value), first, 0)
    pattern = forms.select(c, marks, c.i64([1]), dims)
    return forms.reshape_to(c, value, pattern, special_zero=c.opset < 14)


def reduce(c: Conversion, kind: str, value: Value, axes: Value, *, keep: bool = True) -> Value:
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
        return forms.reduce_computed(c, kind, value, axes, keep=keep)
    rank = needed_rank(c, value)
    marks = _marks(c, axes, rank)
    shape = forms.shape_of(c, value)
    one_kind = "Sum" if kind == "Mean" else kind
    starts = forms.select(c, marks, c.i64([0]), c.i64([1]))
    ends = forms.select(c, marks, c.i64([1]), forms.add(c, shape, c.i64([1])))
    result = value
    for axis in range(rank):
        # Concatenate the reduced and the unreduced values, so that a slice selects one of them.
        both = forms.concat(c, [forms.reduce(c, one_kind, result, [axis]), result], axis)
        start, end = (forms.gather(c, ends_of, c.i64([axis]), 0) for ends_of in (starts, ends))
        result = forms.slice_by(c, both, start, end, c.i64([axis]))
    if kind == "Mean":
        counted = forms.select(c, marks, shape, c.i64([1]))
        count = forms.reduce(c, "Prod", counted, [0], keep=False)
        result = forms.divide(c, result, forms.convert(c, count, element_of(value)))
    return result if keep else _without(c, result, axes, marks)
