"""Emits ONNX operations on shapes, in the form that the target opset (`c.opset`) needs.

Each function appends nodes and returns the result. `onnx_forms` exports them all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx import (
    comparison,
    convert,
    elementwise,
    generate,
    padding,
    reduction,
    search,
    slicing,
)
from irloop.dialects.onnx import gather as gathers
from irloop.dialects.onnx import shape as shapes
from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import UNKNOWN_DIM, Dim, DynamicDim, ElementType, Shape, TensorType

__all__ = [
    "as_i64",
    "as_list",
    "as_scalar",
    "concat",
    "constant_of_shape",
    "expand",
    "gather",
    "identity",
    "pad",
    "reshape",
    "reshape_to",
    "shape_of",
    "slice_",
    "slice_by",
    "split",
    "squeeze",
    "tile",
    "topk",
    "transpose",
    "unsqueeze",
]


#: Slice ends that ONNX Runtime reads as "up to the end" in either direction.
_OPEN_ENDS = (2**31 - 1, 2**63 - 1)


def identity(c: Conversion, value: Value) -> Value:
    """Identity: a copy of the value with a name of its own."""
    return c(convert.Identity(), value)


def as_i64(c: Conversion, value: Value) -> Value:
    """Cast an integer value to i64, the type of ONNX's shapes, axes and positions."""
    if element_of(value) is ElementType.I64:
        return value
    known = c.constant_of(value)
    if known is not None:
        return c.i64(known)
    return c(convert.Cast6(ElementType.I64), value)


def as_list(c: Conversion, value: Value) -> Value:
    """Cast an integer scalar or vector to i64; a scalar becomes a one-element vector."""
    whole = as_i64(c, value)
    return whole if static_shape(whole).rank == 1 else reshape(c, whole, [-1])


def as_scalar(c: Conversion, value: Value) -> Value:
    """A one-element value as a scalar."""
    return value if static_shape(value).rank == 0 else reshape(c, value, [])


def squeeze(c: Conversion, value: Value, axes: Sequence[int]) -> Value:
    """Emit a Squeeze that removes `axes`, each of which has size 1."""
    if c.opset >= 13:
        return c(shapes.Squeeze13(), value, c.i64(list(axes)))
    return c(shapes.Squeeze(tuple(axes)), value)


def unsqueeze(c: Conversion, value: Value, axes: Sequence[int]) -> Value:
    """Insert axes of size 1 at the given positions of the result."""
    if c.opset >= 13:
        return c(shapes.Unsqueeze13(), value, c.i64(list(axes)))
    return c(shapes.Unsqueeze(tuple(axes)), value)


def reshape(c: Conversion, value: Value, dims: Sequence[int]) -> Value:
    """Reshape; 0 copies a dimension, -1 is inferred from the dimensions that are not copied.

    ONNX infers no -1 where a copied dimension is 0. If that can happen, the size that -1 would get
    is computed from the shape of `value`.
    """
    source = static_shape(value).dims
    copied = [at for at, dim in enumerate(dims) if dim == 0]
    if source is None or -1 not in dims or all(_is_positive(source[at]) for at in copied):
        return reshape_to(c, value, c.i64(list(dims)))
    at = dims.index(-1)
    rest = [axis for axis in range(len(source)) if axis not in copied]
    computed = [axis for axis in rest if not isinstance(source[axis], int)]
    factor = math.prod(dim for axis in rest if isinstance(dim := source[axis], int))
    divisor = math.prod(dim for dim in dims if dim > 0)
    if not computed and factor >= divisor:
        return reshape_to(c, value, c.i64([*dims[:at], factor // divisor, *dims[at + 1 :]]))
    if computed == [at] and factor == divisor:
        return reshape_to(c, value, c.i64([*dims[:at], 0, *dims[at + 1 :]]))
    common = math.gcd(factor, divisor)
    size = _inferred(c, value, computed, factor // common, divisor // common)
    pieces = []
    for dim, run in groupby(enumerate(dims), key=lambda item: min(item[1], 1)):
        if dim < 0:
            pieces.append(size)
        elif dim == 0:
            pieces.append(_dims(c, value, [axis for axis, _ in run]))
        else:
            pieces.append(c.i64([known for _, known in run]))
    return reshape_to(c, value, concat(c, pieces, 0), special_zero=False)


def _inferred(c: Conversion, value: Value, axes: list[int], factor: int, divisor: int) -> Value:
    """Emit the product of the dimensions on `axes` and of `factor`, divided by `divisor`.

    The result is an i64 vector with one element.
    """
    if not axes:
        return c.i64([factor // divisor])
    size = _dims(c, value, axes)
    if len(axes) > 1:
        size = c(reduction.ReduceProd18() if c.opset >= 18 else reduction.ReduceProd1(), size)
    if factor != 1:
        size = c(elementwise.Mul(), size, c.i64([factor]))
    return size if divisor == 1 else c(elementwise.Div(), size, c.i64([divisor]))


def _dims(c: Conversion, value: Value, axes: list[int]) -> Value:
    """The dimensions of `value` on ascending `axes`, as an i64 list."""
    first, last = axes[0], axes[-1]
    if c.opset >= 15 and last - first + 1 == len(axes):
        return c(shapes.Shape15(first, last + 1), value)
    return gather(c, shape_of(c, value), c.i64(axes), 0)


def reshape_to(c: Conversion, value: Value, pattern: Value, *, special_zero: bool = True) -> Value:
    """Reshape `value` to the shape `pattern`, a list of i64 numbers.

    With `special_zero`, a 0 in `pattern` stands for the dimension of `value` at the same position.
    Otherwise, it means size 0.

    Raises:
        RefusedError: before opset 14 without `special_zero`, when `value` may be empty and the rank
            of the result is unknown.
    """
    if c.opset >= 14:
        return c(shapes.Reshape14(allowzero=not special_zero), value, pattern)
    known, dims = c.constant_of(pattern), static_shape(value).dims
    has_elements = dims is not None and all(map(_is_positive, dims))
    if special_zero or has_elements or (known is not None and 0 not in known):
        return c(shapes.Reshape(), value, pattern)
    if known is not None:
        # The tensor is empty, so every tensor of that shape is equal to it.
        sizes = [max(int(dim), 0) for dim in known]
        return c.tensor(ArrayTensor(np.zeros(sizes, element_of(value).numpy()), element_of(value)))
    return _reshaped_of_any_size(c, value, pattern)


def _is_positive(dim: Dim) -> bool:
    return dim.low > 0 if isinstance(dim, DynamicDim) else dim > 0


def _reshaped_of_any_size(c: Conversion, value: Value, pattern: Value) -> Value:
    """Reshape `value` to `pattern`, in which 0 means a dimension of size 0.

    Before opset 14, Reshape takes a 0 in the pattern as a request to copy the dimension of the
    operand at the same position. So if `value` is empty, it is first given a shape of zeros, from
    which every 0 copies a 0. With a pattern of three numbers, the nodes are:

        Reshape(Expand(Reshape(value, [-1, 1, 1]), [n, k, k]), pattern)

    Here n is the number of elements, and k is 0 if n is 0, otherwise 1. If `value` is empty, a -1
    in the pattern is replaced by 0.
    """
    rank = static_shape(pattern).count()
    if rank is None:
        raise c.refuse("a tensor that may be empty is reshaped to an unknown rank", opset=14)
    if rank == 0:
        return c(shapes.Reshape(), value, pattern)
    flat = reshape(c, value, [-1, *[1] * (rank - 1)])
    count = gather(c, shape_of(c, flat), c.i64([0]), 0)
    some = as_i64(c, c(convert.Cast6(ElementType.BOOLEAN), count))
    spread = expand(c, flat, concat(c, [count, *[some] * (rank - 1)], 0))
    open_ends = as_i64(c, c(comparison.Equal(), pattern, c.i64([-1])))
    none = c(elementwise.Sub(), c.i64([1]), some)
    closed = c(elementwise.Add(), pattern, c(elementwise.Mul(), open_ends, none))
    made = c(shapes.Reshape(), spread, closed)
    dims = c.inference.dims(pattern)
    if dims is not None:
        known = Shape(tuple(UNKNOWN_DIM if dim == -1 else dim for dim in dims))
        c.inference.hint(made, TensorType(element_of(value), known))
        c.inference.visit(made.producer)
    return made


def transpose(c: Conversion, value: Value, order: Sequence[int]) -> Value:
    """Transpose, unless `order` keeps the axes in place."""
    if list(order) == list(range(len(order))):
        return value
    return c(shapes.Transpose(tuple(order)), value)


def concat(c: Conversion, values: Sequence[Value], axis: int) -> Value:
    """Concatenate values; a single value is returned unchanged."""
    if len(values) == 1:
        return values[0]
    return c(slicing.Concat(axis), *values)


def split(c: Conversion, value: Value, axis: int, lengths: Sequence[int]) -> list[Value]:
    """Split into parts of these lengths along an axis."""
    if len(lengths) == 1:
        return [value]
    if c.opset >= 18:
        node = c.emit(slicing.Split18(axis), value, c.i64(list(lengths)), n_outputs=len(lengths))
    elif c.opset >= 13:
        node = c.emit(slicing.Split13(axis), value, c.i64(list(lengths)), n_outputs=len(lengths))
    else:
        node = c.emit(slicing.Split(axis, tuple(lengths)), value, n_outputs=len(lengths))
    return list(node.outputs)


def slice_(
    c: Conversion,
    value: Value,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int] | None = None,
) -> Value:
    """Slice from `starts` to `ends` along `axes`."""
    strides = [1] * len(axes) if steps is None else list(steps)
    return slice_by(
        c,
        value,
        c.i64(list(starts)),
        c.i64(list(ends)),
        c.i64(list(axes)),
        None if all(step == 1 for step in strides) else c.i64(strides),
    )


def slice_by(
    c: Conversion,
    value: Value,
    starts: Value,
    ends: Value,
    axes: Value | None = None,
    steps: Value | None = None,
) -> Value:
    """Slice `value`; the bounds, axes and steps are i64 vectors."""
    if c.opset < 10:
        found = _sliced_by_numbers(c, value, starts, ends, axes, steps)
        if found is not None:
            return found
    return c(slicing.Slice10(), value, starts, _exact_ends(c, ends, steps), axes, steps)


def _sliced_by_numbers(
    c: Conversion,
    value: Value,
    starts: Value,
    ends: Value,
    axes: Value | None,
    steps: Value | None,
) -> Value | None:
    """Emit the Slice of opsets before 10, whose bounds are attributes.

    Returns None if a bound, an axis or a step is not constant.
    """
    count = static_shape(starts).count() or 0
    whole = c.i64(list(range(count))) if axes is None else axes
    strides = c.i64([1] * count) if steps is None else steps
    known = [c.constant_of(item) for item in (starts, ends, whole, strides)]
    if any(item is None for item in known):
        return None
    first, last, along, by = ([int(n) for n in item] for item in known if item is not None)
    return _sliced_before_10(c, value, first, last, along, by)


def _sliced_before_10(
    c: Conversion,
    value: Value,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int],
) -> Value | None:
    """A slice with known bounds: Slice-1 for steps of 1, else a Gather.

    None if a Gather would need a size that is unknown.
    """
    bounds = list(zip(starts, ends, axes, steps, strict=True))
    ones = [(start, end, axis) for start, end, axis, step in bounds if step == 1]
    if ones:
        value = c(slicing.Slice(*zip(*ones, strict=True)), value)
    for start, end, axis, step in bounds:
        if step == 1:
            continue
        size = static_shape(value).dim(axis)
        if not isinstance(size, int):
            return None
        # With a negative step, such an end lies before the first element: Python writes it as None.
        stop = None if step < 0 and end < -size else end
        places = range(size)[slice(start, stop, step)]
        value = gather(c, value, c.i64(list(places)), axis)
    return value


def _exact_ends(c: Conversion, ends: Value, steps: Value | None) -> Value:
    """Subtract 1 from each end of 2^31 - 1 or 2^63 - 1 whose step is negative.

    With a negative step, ONNX Runtime reads these two integers as an open end, but other runtimes
    read them as positions after the last element. All runtimes read an integer that is 1 smaller as
    such a position. Ends are changed only if the ends and the steps are constant.
    """
    last = c.constant_of(ends)
    strides = None if steps is None else c.constant_of(steps)
    if last is None or strides is None:
        return ends
    pairs = zip(last.tolist(), strides.tolist(), strict=True)
    exact = [end - (step < 0 and end in _OPEN_ENDS) for end, step in pairs]
    return ends if exact == last.tolist() else c.i64(exact)


def gather(c: Conversion, value: Value, indices: Value, axis: int) -> Value:
    """Gather along an axis; negative indices count from the end."""
    return c(gathers.Gather(axis), value, indices)


def shape_of(c: Conversion, value: Value) -> Value:
    """The dimensions as an i64 list."""
    return c(shapes.Shape15() if c.opset >= 15 else shapes.Shape1(), value)


def expand(c: Conversion, value: Value, target: Value) -> Value:
    """Emit an Expand, which broadcasts `value` with the shape in `target`, a 1-D i64 tensor."""
    return c(shapes.Expand(), value, target)


def tile(c: Conversion, value: Value, repeats: Value) -> Value:
    """Tile along each axis; `repeats` is an i64 list."""
    return c(shapes.Tile(), value, repeats)


def pad(
    c: Conversion, value: Value, pads: Value, fill: Value | None = None, mode: str = "constant"
) -> Value:
    """Pad; `pads` is an i64 list of all begins and then all ends, `fill` a scalar."""
    if c.opset >= 19:
        return c(padding.Pad19(mode), value, pads, fill)
    numbers, number = c.constant_of(pads), 0.0 if fill is None else c.constant_of(fill)
    if c.opset < 11 and numbers is not None and number is not None and element_of(value).is_float:
        fixed = tuple(int(item) for item in numbers)
        return c(padding.Pad2(fixed, mode, float(np.asarray(number).reshape(-1)[0])), value)
    if c.opset >= 18:
        return c(padding.Pad18(mode), value, pads, fill)
    return c(padding.Pad11(mode), value, pads, fill)


def constant_of_shape(c: Conversion, target: Value, number: float, element: ElementType) -> Value:
    """A tensor that is filled with `number`; the i64 vector `target` is its shape."""
    if c.opset < 9:
        return expand(c, c.constant(number, element), target)
    tensor = ArrayTensor(np.array([number]).astype(element.numpy()), element)
    return c(generate.ConstantOfShape(tensor), target)


def topk(
    c: Conversion,
    value: Value,
    k: Value,
    axis: int,
    *,
    largest: bool = True,
    in_order: bool = True,
) -> tuple[Value, Value]:
    """The largest (or smallest) elements along an axis and their i64 positions.

    `k` is a one-element i64 vector.
    """
    if c.opset == 10 and largest:
        values, indices = c.emit(search.TopK10(axis), value, k, n_outputs=2).outputs
        return values, indices
    count = c.constant_of(k)
    if c.opset < 10 and largest and count is not None:
        number = int(count.reshape(-1)[0])
        values, indices = c.emit(search.TopK1(number, axis), value, n_outputs=2).outputs
        return values, indices
    op = search.TopK11(axis=axis, largest=largest, sorted=in_order)
    values, indices = c.emit(op, value, k, n_outputs=2).outputs
    return values, indices
