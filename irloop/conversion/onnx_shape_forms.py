"""ONNX forms of operations on shapes, as the opset being written (`c.opset`) has them.

Each function appends nodes and returns the value that stands for the result. `onnx_forms`
offers them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.framework import Conversion
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
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType

__all__ = [
    "as_i64",
    "as_list",
    "concat",
    "constant_of_shape",
    "expand",
    "gather",
    "identity",
    "pad",
    "reshape",
    "reshape_to",
    "shape",
    "slice_",
    "slice_by",
    "split",
    "squeeze",
    "tile",
    "topk",
    "transpose",
    "unsqueeze",
]


#: The element types of ConstantOfShape in the opsets before 14.
FILLED = frozenset(
    ElementType(name)
    for name in (
        "f16",
        "f32",
        "f64",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "boolean",
    )
)

#: Ends that ONNX Runtime does not clamp.
_OPEN_ENDS = (2**31 - 1, 2**63 - 1)


def identity(c: Conversion, value: Value) -> Value:
    """The same value under a name of its own."""
    return c(convert.Identity(), value)


def as_i64(c: Conversion, value: Value) -> Value:
    """An integer value as i64, which shapes, axes and positions of ONNX are."""
    if element_of(value) is ElementType.I64:
        return value
    known = c.constant_of(value)
    if known is not None:
        return c.i64(known)
    return c(convert.Cast6(ElementType.I64), value)


def as_list(c: Conversion, value: Value) -> Value:
    """An integer scalar or list as an i64 list."""
    whole = as_i64(c, value)
    return whole if shape_of(whole).rank == 1 else reshape(c, whole, [-1])


def squeeze(c: Conversion, value: Value, axes: Sequence[int]) -> Value:
    """Remove axes of size 1."""
    if c.opset >= 13:
        return c(shapes.Squeeze13(), value, c.i64(list(axes)))
    return c(shapes.Squeeze(tuple(axes)), value)


def unsqueeze(c: Conversion, value: Value, axes: Sequence[int]) -> Value:
    """Insert axes of size 1 at positions of the result."""
    if c.opset >= 13:
        return c(shapes.Unsqueeze13(), value, c.i64(list(axes)))
    return c(shapes.Unsqueeze(tuple(axes)), value)


def reshape(c: Conversion, value: Value, dims: Sequence[int]) -> Value:
    """The elements in another shape; 0 copies a dimension, -1 is what is left."""
    return reshape_to(c, value, c.i64(list(dims)))


def reshape_to(c: Conversion, value: Value, pattern: Value, *, special_zero: bool = True) -> Value:
    """The elements in the shape of an i64 list; 0 copies a dimension with `special_zero`.

    Raises:
        RefusedError: when 0 means an empty dimension, and neither the opset nor operations of it
            have that for the element type.
    """
    if c.opset >= 14:
        return c(shapes.Reshape14(allowzero=not special_zero), value, pattern)
    known = c.constant_of(pattern)
    if special_zero or (known is not None and 0 not in known):
        return c(shapes.Reshape(), value, pattern)
    if element_of(value) not in FILLED:
        raise c.refuse("a dimension of 0 in a shape needs opset 14", opset=14)
    if known is not None:
        # There is nothing in it, so any tensor of that shape is the same.
        return constant_of_shape(
            c, c.i64([max(0, int(dim)) for dim in known]), 0, element_of(value)
        )
    return _reshape_or_empty(c, value, pattern)


def _reshape_or_empty(c: Conversion, value: Value, pattern: Value) -> Value:
    """Reshape where a computed dimension may be 0, before opset 14.

    Given value [0, 4] and pattern [2, 0]: one element is appended, [1 * 2] is given the shape
    [2, 1], and of that [0:2, 0:0] is taken. Nothing is appended or cut where no dimension is 0.
    """
    zero, one = c.i64([0]), c.i64([1])
    size = c(shapes.Reshape(), c(shapes.Size(), value), one)
    is_rest = c(comparison.Less(), pattern, zero)
    others = _product(c, c(comparison.Where(), is_rest, one, pattern))
    divisor = c(comparison.Where(), c(comparison.Equal(), others, zero), one, others)
    rest = c(elementwise.Div(), size, divisor)
    wanted = c(comparison.Where(), is_rest, rest, pattern)
    safe = c(comparison.Where(), c(comparison.Equal(), wanted, zero), one, wanted)
    missing = c(elementwise.Sub(), _product(c, safe), size)
    filler = constant_of_shape(c, missing, 0, element_of(value))
    filled = concat(c, [reshape(c, value, [-1]), filler], 0)
    starts = c(elementwise.Mul(), wanted, zero)
    made = slice_by(c, c(shapes.Reshape(), filled, safe), starts, wanted)
    dims = c.inference.dims(pattern)
    if dims is not None:
        shape = Shape(tuple(dim if dim != -1 else UNKNOWN_DIM for dim in dims))
        c.inference.hint(made, TensorType(element_of(value), shape))
        c.inference.visit(made.producer)
    return made


def _product(c: Conversion, numbers: Value) -> Value:
    return c(reduction.ReduceProd1(axes=(0,), keepdims=True), numbers)


def transpose(c: Conversion, value: Value, order: Sequence[int]) -> Value:
    """Axes in another order; itself where it stays as it is."""
    if list(order) == list(range(len(order))):
        return value
    return c(shapes.Transpose(tuple(order)), value)


def concat(c: Conversion, values: Sequence[Value], axis: int) -> Value:
    """Values one behind the other; itself where there is only one."""
    if len(values) == 1:
        return values[0]
    return c(slicing.Concat(axis), *values)


def split(c: Conversion, value: Value, axis: int, lengths: Sequence[int]) -> list[Value]:
    """Parts of these lengths along an axis."""
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
    """Elements from `starts` to `ends` along `axes`."""
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
    """Elements between bounds that are i64 lists."""
    return c(slicing.Slice10(), value, starts, _exact_ends(c, ends, steps), axes, steps)


def _exact_ends(c: Conversion, ends: Value, steps: Value | None) -> Value:
    """Ends that every runtime clamps: the largest integers mean something else backwards.

    ONNX Runtime takes them for "as far as it goes" in either direction.
    """
    last = c.constant_of(ends)
    strides = None if steps is None else c.constant_of(steps)
    if last is None or strides is None:
        return ends
    pairs = zip(last.tolist(), strides.tolist(), strict=True)
    exact = [end - (step < 0 and end in _OPEN_ENDS) for end, step in pairs]
    return ends if exact == last.tolist() else c.i64(exact)


def gather(c: Conversion, value: Value, indices: Value, axis: int) -> Value:
    """Slices of an axis at indices, negative ones counted from the end."""
    return c(gathers.Gather(axis), value, indices)


def shape(c: Conversion, value: Value) -> Value:
    """The dimensions as an i64 list."""
    return c(shapes.Shape15() if c.opset >= 15 else shapes.Shape1(), value)


def expand(c: Conversion, value: Value, target: Value) -> Value:
    """`value` repeated to the common shape of itself and an i64 list."""
    return c(shapes.Expand(), value, target)


def tile(c: Conversion, value: Value, repeats: Value) -> Value:
    """The whole of `value` repeated along each axis; `repeats` is an i64 list."""
    return c(shapes.Tile(), value, repeats)


def pad(
    c: Conversion, value: Value, pads: Value, fill: Value | None = None, mode: str = "constant"
) -> Value:
    """`value` padded; `pads` is an i64 list of all begins and then all ends, `fill` a scalar."""
    if c.opset >= 19:
        return c(padding.Pad19(mode), value, pads, fill)
    if c.opset >= 18:
        return c(padding.Pad18(mode), value, pads, fill)
    return c(padding.Pad11(mode), value, pads, fill)


def constant_of_shape(c: Conversion, target: Value, number: float, element: ElementType) -> Value:
    """A tensor of one number whose shape is an i64 list."""
    import numpy as np

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

    `k` is an i64 list of one element.
    """
    op = search.TopK11(axis=axis, largest=largest, sorted=in_order)
    values, indices = c.emit(op, value, k, n_outputs=2).outputs
    return values, indices
