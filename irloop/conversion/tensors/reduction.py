"""Converts reductions.

An empty list of axes reduces nothing in OpenVINO and everything in ONNX.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.tensors import computed_axes
from irloop.dialects.onnx import comparison as onnx_comparison
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.onnx import legacy as onnx_legacy
from irloop.dialects.onnx import reduction as onnx
from irloop.dialects.openvino import elementwise as ov_math
from irloop.dialects.openvino import reduction as ov
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.writing.known_inputs import ints
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

#: Operations whose result for infinity differs from that for the largest finite number.
_FINDING_INFINITY = (onnx_comparison.Equal, onnx_legacy.Equal1, onnx_comparison.IsInf)


def _export(kind: str) -> Callable[..., Value]:
    def rule(c: Export, op: ov.Reduction, data: Value, axes: Value) -> Value:
        known = ints(c, axes)
        if known is None:
            # The axes are known only at run time and may be empty; then each element is reduced by
            # itself. For L1 and L2 this gives its absolute value, which does not change other
            # results.
            data = _unreduced(c, kind, data) if kind in ("L1", "L2") else data
            return computed_axes.reduced(c, kind, data, axes, keep=op.keep_dims)
        if not known:
            return _unreduced(c, kind, data)
        return c.reduce(kind, data, known, keep=op.keep_dims)

    return rule


def _unreduced(c: Export, kind: str, data: Value) -> Value:
    """Emit a reduction over no axes: the absolute values for L1 and L2, else a copy of `data`."""
    if kind in ("L1", "L2"):
        return c(onnx_math.Abs(), data)
    return c.identity(data)


exports(ov.ReduceSum)(_export("Sum"))
exports(ov.ReduceMean)(_export("Mean"))
exports(ov.ReduceProd)(_export("Prod"))
exports(ov.ReduceMax)(_export("Max"))
exports(ov.ReduceMin)(_export("Min"))
exports(ov.ReduceL1)(_export("L1"))
exports(ov.ReduceL2)(_export("L2"))


def _export_logical(kind: str) -> Callable[..., Value]:
    """Make a rule that converts a logical reduction to ReduceMin or ReduceMax of integers.

    The booleans are converted to integers and back, because ReduceMin and ReduceMax accept booleans
    only since opset 20.
    """

    def rule(c: Export, op: ov.Reduction, data: Value, axes: Value) -> Value:
        numbers = c.convert(data, ElementType.I32)
        return c.convert(_export(kind)(c, op, numbers, axes), ElementType.BOOLEAN)

    return rule


exports(ov.ReduceLogicalAnd)(_export_logical("Min"))
exports(ov.ReduceLogicalOr)(_export_logical("Max"))


def all_axes(c: Import, data: Value) -> Value:
    """The list of all axes of `data`, computed at run time if the rank is unknown."""
    rank = shape_of(data).rank
    if rank is not None:
        return c.i64(list(range(rank)))
    count = c.shape_of(c.shape_of(data))
    return c.numbers_below(c.as_scalar(count))


def axes_input(
    c: Import, op: onnx.ByAttribute | onnx.ByInput, data: Value, axes: Value | None
) -> Value | None:
    """Return the axes of a reduction as the input of an OpenVINO reduction.

    Returns None if the reduction changes nothing, because it has no axes and `noop_with_empty_axes`
    is set.

    Raises:
        RefusedError: when it is not known whether the list of axes is empty.
    """
    if isinstance(op, onnx.ByAttribute):
        return c.i64(list(op.axes)) if op.axes else all_axes(c, data)
    if axes is None or _lists_none(c, op, axes):
        return None if op.noop_with_empty_axes else all_axes(c, data)
    if ints(c, axes) is None and shape_of(axes).count() is None:
        # An empty list of axes has the opposite meaning in the other dialect.
        raise c.refuse("it is not known whether its list of axes is empty", "make it constant")
    return axes


def _lists_none(c: Import, op: onnx.ByAttribute | onnx.ByInput, axes: Value | None) -> bool:
    """Return whether no axes are listed.

    Such a reduction reduces all axes, or none with `noop_with_empty_axes`.
    """
    if isinstance(op, onnx.ByAttribute):
        return not op.axes
    return axes is None or ints(c, axes) == [] or shape_of(axes).count() == 0


def _flat_if_all_is_reduced(
    c: Import, op: onnx.ByAttribute | onnx.ByInput, data: Value, axes: Value | None
) -> Value:
    """Flatten `data` to one axis if its rank is unknown and it is reduced to a scalar.

    Otherwise return `data` unchanged. Without flattening, the list of all axes would have to be
    computed when the model runs. Shape inference would then not know that the result is a scalar.
    """
    noop = isinstance(op, onnx.ByInput) and op.noop_with_empty_axes
    if shape_of(data).rank is not None or op.keepdims or noop or not _lists_none(c, op, axes):
        return data
    return c.reshape(data, [-1])


def _import(kind: str) -> Callable[..., Value]:
    """Make the rule that imports a reduction; Max and Min of booleans become Or and And."""

    def rule(
        c: Import,
        op: onnx.ByAttribute | onnx.ByInput,
        data: Value,
        axes: Value | None = None,
    ) -> Value:
        data = _flat_if_all_is_reduced(c, op, data, axes)
        listed = axes_input(c, op, data, axes)
        if listed is None:
            return c(ov_math.Abs(), data) if kind in ("L1", "L2") else data
        if kind == "Max" and element_of(data).is_float and _may_be_infinite(c, data):
            lowest = c.scalar(-math.inf, data)
            nothing = _import("Min")(c, op, c.equal(data, lowest), axes)
            largest = _reduced(c, kind, data, listed, keep=op.keepdims)
            return c.select(nothing, lowest, largest)
        if element_of(data) is not ElementType.BOOLEAN:
            return _reduced(c, kind, data, listed, keep=op.keepdims)
        if c.constant_of(listed) is not None:
            logical = "And" if kind == "Min" else "Or"
            return c.reduce(logical, data, listed, keep=op.keepdims)
        # OpenVINO's CPU supports logical reductions only over constant axes, so reduce u8 instead.
        # Over no elements, the results are right, too: the maximum is 0 (false) and the minimum 255
        # (true).
        numbers = c.convert_always(data, ElementType.U8)
        reduced = c.reduce(kind, numbers, listed, keep=op.keepdims)
        return c.convert_always(reduced, ElementType.BOOLEAN)

    return rule


def _may_be_infinite(c: Import, data: Value) -> bool:
    """Return whether the maximum of `data` may be -inf and OpenVINO would compute a finite number.

    The function assumes this if `data` is known to be empty, or if an operation that reads the
    maximum tests for infinity. The maximum of no elements, or of -inf only, is -inf. OpenVINO's CPU
    (2026.4) returns the lowest finite number instead.
    """
    users = [user.op for user, _ in c.node.outputs[0].uses]
    return shape_of(data).count() == 0 or any(isinstance(op, _FINDING_INFINITY) for op in users)


def _reduced(c: Import, kind: str, data: Value, axes: Value, *, keep: bool) -> Value:
    """Emit the reduction `kind` of `data` over `axes`, with a result of known rank.

    OpenVINO's CPU plugin requires a known rank, which is lost if a reduction removes axes that are
    known only at run time. Therefore such a reduction keeps its axes with size 1, and a Reshape
    removes them. If the rank of `data` or the number of axes is unknown, a plain reduction is
    emitted.

    `kind` is the name of the reduction, such as "Sum".
    """
    rank, count = shape_of(data).rank, shape_of(axes).count()
    if keep or c.constant_of(axes) is not None or rank is None or count is None or count > rank:
        return c.reduce(kind, data, axes, keep=keep)
    reduced = c.reduce(kind, data, axes, keep=True)
    left = c.subtract(c.i64(1), c.marks_of_axes(axes, rank))
    kept = c.reshape(c(NonZero(), left), [rank - count])
    dims = c.gather(c.shape_of(data), kept, 0)
    return c.reshape_to(reduced, dims, special_zero=False)


imports(onnx.ReduceSum1, onnx.ReduceSum13)(_import("Sum"))
imports(onnx.ReduceMean1, onnx.ReduceMean18)(_import("Mean"))
imports(onnx.ReduceProd1, onnx.ReduceProd18)(_import("Prod"))
imports(onnx.ReduceMax1, onnx.ReduceMax18)(_import("Max"))
imports(onnx.ReduceMin1, onnx.ReduceMin18)(_import("Min"))
imports(onnx.ReduceL11, onnx.ReduceL118)(_import("L1"))
imports(onnx.ReduceL21, onnx.ReduceL218)(_import("L2"))


@imports(onnx.ReduceSumSquare1, onnx.ReduceSumSquare18)
def import_sum_square(
    c: Import,
    op: onnx.ByAttribute | onnx.ByInput,
    data: Value,
    axes: Value | None = None,
) -> Value:
    return _import("Sum")(c, op, c.multiply(data, data), axes)


@imports(onnx.ReduceLogSum1, onnx.ReduceLogSum18)
def import_log_sum(
    c: Import,
    op: onnx.ByAttribute | onnx.ByInput,
    data: Value,
    axes: Value | None = None,
) -> Value:
    return in_float(c, lambda value: c(ov_math.Log(), _import("Sum")(c, op, value, axes)), data)


def in_float(c: Import, build: Callable[[Value], Value], data: Value) -> Value:
    """Emit the operations that `build` makes from `data`, in f32 if `data` are integers.

    Integers are converted to f32 first, and the result is truncated back to their type, as in ONNX.
    Floats are passed to `build` unchanged.
    """
    element = element_of(data)
    if not element.is_integer:
        return build(data)
    wide = c.convert_always(data, ElementType.F32)
    return c.convert_always(build(wide), element)


@imports(onnx.ReduceLogSumExp1, onnx.ReduceLogSumExp18)
def import_log_sum_exp(
    c: Import,
    op: onnx.ByAttribute | onnx.ByInput,
    data: Value,
    axes: Value | None = None,
) -> Value:
    """Write ReduceLogSumExp as max + log(sum(exp(x - max))), which does not overflow.

    An infinite maximum is replaced by 0: x - max would be NaN.
    """
    data = _flat_if_all_is_reduced(c, op, data, axes)
    listed = axes_input(c, op, data, axes)
    if listed is None:
        return data
    known = c.constant_of(listed)

    def build(value: Value) -> Value:
        largest = c.reduce("Max", value, listed, keep=True)
        infinite = c.equal(c(ov_math.Abs(), largest), c.scalar(math.inf, largest))
        peak = c.select(infinite, c.scalar(0, largest), largest)
        powers = c(ov_math.Exp(), c.subtract(value, peak))
        total = c(ov_math.Log(), c.reduce("Sum", powers, listed, keep=op.keepdims))
        if op.keepdims:
            return c.add(total, peak)
        if known is None:
            return c.add(total, c.reduce("Max", peak, listed, keep=False))
        return c.add(total, c.squeeze(peak, known.tolist()))

    return in_float(c, lambda value: c.in_f32(build, value), data)
