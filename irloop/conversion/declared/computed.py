"""Converts operations with computed operands that the fixed output shape does not determine.

The number of elements is known, so each element of the output is read from a position that is
computed from the operands while the model runs. Positions are kept inside the data. If the operands
lead to a shape other than the fixed one, the result is wrong, but nothing outside the data is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from irloop.dialects.onnx import gather, generate, padding, reduction, slicing
from irloop.dialects.onnx.comparison import And, Equal, GreaterOrEqual, Less, Or, Where
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.elementwise import Add, Max, Min, Mod, Mul, Sub
from irloop.dialects.onnx.gather import Gather
from irloop.dialects.onnx.search import TopK11
from irloop.dialects.onnx.shape import Reshape14
from irloop.graph.builder import Builder, element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["COMPUTED"]

Dims = tuple[int, ...]
Inputs = Sequence[Value | None]

#: The most ways in which axes may lead from one shape to another; each is computed.
MOST_SETS = 6
MOST_DIMS = 8


def _reduced(
    b: Builder, op: reduction.ByInput, inputs: Inputs, dims: list[Dims]
) -> list[Value] | None:
    """Emit a reduction for axes that are known only at run time; the output shape is declared.

    Every set of axes that leads to the declared shape gets its own reduction. At run time, the
    value of the input `axes` selects one of their results.

    Returns None if there is no input `axes`, if the sizes of the data are unknown, if no set of
    axes leads to the declared shape, or if there are too many dimensions or sets.
    """
    data = inputs[0]
    axes = inputs[1] if len(inputs) > 1 else None
    sizes = None if data is None else shape_of(data).static()
    if sizes is None or axes is None or len(sizes) > MOST_DIMS:
        return None
    find = _kept_sets if op.keepdims else _dropped_sets
    sets = find(sizes, dims[0])
    if not 0 < len(sets) <= MOST_SETS:
        return None
    made = b(op, data, b.i64(sets[0]))
    for each in sets[1:]:
        listed = [_member(b, axes, axis, len(sizes)) for axis in each if sizes[axis] != 1]
        chosen = b(GreaterOrEqual(), b(Min(), *listed), b.i64([1]))
        made = b(Where(), chosen, b(op, data, b.i64(each)), made)
    return [made]


def _kept_sets(sizes: Dims, dims: Dims) -> list[list[int]]:
    """Find the axes that a reduction must reduce to size 1 to turn `sizes` into `dims`.

    Returns a list with one set of axes, for use like the result of `_dropped_sets`. The list is
    empty if `dims` equals `sizes`: the reduction then has either no axes or only axes of size 1,
    and the shapes do not tell which.
    """
    axes = [axis for axis, (old, new) in enumerate(zip(sizes, dims, strict=True)) if old != new]
    # The reduction of an axis of size 1 changes nothing else. If there is no other axis, the
    # operands may also ask for no reduction at all.
    return [axes] if axes else []


def _dropped_sets(sizes: Dims, dims: Dims) -> list[list[int]]:
    """List the sets of axes whose removal turns the shape `sizes` into the shape `dims`.

    Sets that contain no axes except those of size 1 are left out. If sets differ only in their axes
    of size 1, the first is listed: from (1, 4, 1) to (1,), both [0, 1] and [1, 2] could be removed,
    and the result is [[0, 1]].
    """
    dropped: dict[tuple[int, ...], list[int]] = {}
    for axes in itertools.combinations(range(len(sizes)), len(sizes) - len(dims)):
        left = tuple(size for axis, size in enumerate(sizes) if axis not in axes)
        wide = tuple(axis for axis in axes if sizes[axis] != 1)
        if left == dims and wide:
            dropped.setdefault(wide, list(axes))
    return list(dropped.values())


def _member(b: Builder, axes: Value, axis: int, rank: int) -> Value:
    """A vector of one i64: 1 if the list `axes` contains `axis`, else 0."""
    return b(reduction.ReduceMax18(), _hits(b, axes, axis, rank), b.i64([0]))


def _hits(b: Builder, axes: Value, axis: int, rank: int) -> Value:
    """Return i64 values: 1 for each element of `axes` that denotes `axis`, else 0.

    Both `axis` and the negative number of the same axis count. `rank` is the number of axes.
    """
    element = element_of(axes)
    same = [b(Equal(), axes, b.constant(number, element)) for number in (axis, axis - rank)]
    return b(Cast6(ElementType.I64), b(Or(), *same))


def _sliced(
    b: Builder, op: slicing.Slice10, inputs: Inputs, dims: list[Dims]
) -> list[Value] | None:
    data, starts, _, axes, steps = (*inputs, None, None)[:5]
    sizes = None if data is None else shape_of(data).static()
    count = None if starts is None else shape_of(starts).count()
    if data is None or starts is None or sizes is None or count is None:
        return None
    most = max(sizes, default=0)
    starts = _between(b, b(Cast6(ElementType.I64), starts), -most, most)
    steps = None if steps is None else b(Cast6(ElementType.I64), steps)
    made = data
    for axis, size in enumerate(sizes):
        start = _of_axis(b, starts, axes, axis, len(sizes))
        if start is None:
            continue
        start = b(Where(), b(Less(), start, b.i64(0)), b(Add(), start, b.i64(size)), start)
        start = _between(b, start, 0, size - 1)
        offset = b.i64(list(range(dims[0][axis])))
        if steps is not None:
            step = _of_axis(b, steps, axes, axis, len(sizes), missing=1)
            assert step is not None
            offset = b(Mul(), offset, step)
        at = _between(b, b(Add(), start, offset), 0, size - 1)
        made = b(Gather(axis), made, at)
    return [made]


def _of_axis(
    b: Builder, numbers: Value, axes: Value | None, axis: int, rank: int, *, missing: int = 0
) -> Value | None:
    """Return the element of `numbers` that belongs to `axis`, as a vector of one element.

    `axes` lists the axes of the elements; if it is None, they are the first axes. If `axes` is
    computed and lacks the axis when the model runs, the result is `missing`. If `axes` is constant
    and lacks the axis, the result is None.
    """
    count = shape_of(numbers).count()
    known = range(count or 0) if axes is None else b.constant_of(axes)
    if known is not None:
        places = [at for at, each in enumerate(known) if int(each) % rank == axis]
        return b(Gather(0), numbers, b.i64(places)) if places else None
    assert axes is not None
    hits = _hits(b, axes, axis, rank)
    element = b(reduction.ReduceSum13(), b(Mul(), numbers, hits), b.i64([0]))
    if not missing:
        return element
    lacking = b(Sub(), b.i64([1]), b(reduction.ReduceMax18(), hits, b.i64([0])))
    return b(Add(), element, b(Mul(), lacking, b.i64([missing])))


def _between(b: Builder, value: Value, low: int, high: int) -> Value:
    return b(Max(), b(Min(), value, b.i64([high])), b.i64([low]))


def _padded(b: Builder, op: padding.Pad11, inputs: Inputs, dims: list[Dims]) -> list[Value] | None:
    data, pads, filling, axes = (*inputs, None, None)[:4]
    sizes = None if data is None else shape_of(data).static()
    count = None if pads is None else shape_of(pads).count()
    if data is None or pads is None or sizes is None or count is None or 0 in sizes:
        return None
    begins = b(Gather(0), b(Cast6(ElementType.I64), pads), b.i64(list(range(count // 2))))
    if filling is None:
        filling = b.constant(0, element_of(data))
    made = data
    for axis, size in enumerate(sizes):
        begin = _of_axis(b, begins, axes, axis, len(sizes))
        if begin is None:
            continue
        positions = b(Sub(), b.i64(list(range(dims[0][axis]))), begin)
        made = b(Gather(axis), made, _inside(b, positions, size, op.mode))
        if op.mode == "constant":
            begun = b(GreaterOrEqual(), positions, b.i64(0))
            inside = b(And(), begun, b(Less(), positions, b.i64(size)))
            column = b(Reshape14(), inside, b.i64([-1] + [1] * (len(sizes) - axis - 1)))
            made = b(Where(), column, made, filling)
    return [made]


def _inside(b: Builder, position: Value, size: int, mode: str) -> Value:
    """Map positions that may be outside an axis to the positions of the elements to read.

    `position` holds the positions and `size` is the length of the axis. `mode` is the mode of Pad,
    such as "wrap" or "reflect"; modes other than these two read the nearest element.
    """
    if mode == "wrap":
        return b(Mod(), position, b.i64(size))
    if mode == "reflect" and size > 1:
        period = b.i64(2 * (size - 1))
        rest = b(Mod(), position, period)
        return b(Min(), rest, b(Sub(), period, rest))
    return _between(b, position, 0, size - 1)


def _range(b: Builder, op: generate.Range, inputs: Inputs, dims: list[Dims]) -> list[Value] | None:
    start, _, delta = inputs
    assert start is not None
    steps = b.constant(list(range(dims[0][0])), element_of(start))
    return [b(Add(), b(Mul(), steps, delta), start)]


def _compressed(
    b: Builder, op: gather.Compress, inputs: Inputs, dims: list[Dims]
) -> list[Value] | None:
    data, condition = inputs
    length = None if condition is None else shape_of(condition).count()
    sizes = None if data is None else shape_of(data).static()
    axis = op.axis or 0
    if data is None or length is None or sizes is None or not sizes or length < dims[0][axis]:
        return None
    if op.axis is None:
        data = b(Reshape14(), data, b.i64([-1]))
    # The positions of the true elements are the smallest ones, because the others get a larger
    # number.
    positions = b(Where(), condition, b.i64(list(range(length))), b.i64(length))
    first = b(TopK11(axis=0, largest=False), positions, b.i64([dims[0][axis]]))
    return [b(Gather(axis), data, _between(b, first, 0, length - 1))]


REDUCTIONS = (
    reduction.ReduceSum13,
    reduction.ReduceMean18,
    reduction.ReduceProd18,
    reduction.ReduceMax18,
    reduction.ReduceMin18,
    reduction.ReduceL118,
    reduction.ReduceL218,
    reduction.ReduceLogSum18,
    reduction.ReduceLogSumExp18,
    reduction.ReduceSumSquare18,
)

COMPUTED: dict[type[Op], Callable[..., list[Value] | None]] = {
    **dict.fromkeys(REDUCTIONS, _reduced),
    slicing.Slice10: _sliced,
    padding.Pad11: _padded,
    padding.Pad18: _padded,
    padding.Pad19: _padded,
    generate.Range: _range,
    generate.Range27: _range,
    gather.Compress: _compressed,
}
