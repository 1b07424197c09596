"""Emits ONNX operations in the form that the target opset (`c.opset`) or element type needs.

Each function appends nodes and returns the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.conversion.forms import onnx_older_forms as older
from irloop.conversion.forms.onnx_shape_forms import (
    as_i64,
    as_list,
    as_scalar,
    concat,
    constant_of_shape,
    expand,
    gather,
    identity,
    pad,
    reshape,
    reshape_to,
    shape_of,
    slice_,
    slice_by,
    split,
    squeeze,
    tile,
    topk,
    transpose,
    unsqueeze,
)
from irloop.conversion.framework.element_types import ELEMENT_SINCE
from irloop.conversion.framework.translation import Conversion
from irloop.conversion.loops.onnx_loop_builder import numbers_below
from irloop.dialects.onnx import (
    activation,
    comparison,
    elementwise,
    generate,
    reduction,
)
from irloop.dialects.onnx import (
    convert as conversions,
)
from irloop.dialects.onnx.base import SHORTS, TINY_FLOATS, TINY_INTEGERS
from irloop.dialects.unpacked import (
    STAND_INS,
    CodesTensor,
    UnpackedTensor,
    numbers_of_codes,
)
from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.model import Value
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType

__all__ = [
    "add",
    "as_i64",
    "as_list",
    "as_scalar",
    "clip",
    "compared",
    "computed_in",
    "computing_type",
    "concat",
    "constant_of_shape",
    "convert",
    "divide",
    "equal",
    "expand",
    "floor_divide",
    "gather",
    "greater",
    "identity",
    "less",
    "log_softmax",
    "logical_not",
    "maximum",
    "minimum",
    "multiply",
    "numeric",
    "pad",
    "range_",
    "reduce",
    "reduce_computed",
    "representable",
    "require_element",
    "reshape",
    "reshape_to",
    "scalar",
    "select",
    "shape_of",
    "slice_",
    "slice_by",
    "softmax",
    "split",
    "squeeze",
    "subtract",
    "tile",
    "topk",
    "transpose",
    "unsqueeze",
]

BYTES = frozenset({ElementType.I8, ElementType.U8})

#: The element types that some operations lack. All operations on numbers have the other types.
_PARTLY_SUPPORTED = BYTES | SHORTS | TINY_INTEGERS | TINY_FLOATS

#: 4-bit floats, of which ONNX or ONNX Runtime cannot cast constants: their codes are looked up in a
#: table.
LISTED = frozenset({ElementType.NF4, ElementType.F4E2M1})

#: More codes than this are looked up in a table. Fewer are stored as plain floats, which take no
#: more space than a table.
TABLE_FROM = 64

UNKNOWN_TO_ONNX = frozenset({ElementType.U1, ElementType.U3, ElementType.U6, ElementType.NF4})


#: The element types of Equal before opset 11.
_EQUAL_7 = frozenset({ElementType.BOOLEAN, ElementType.I32, ElementType.I64})


def require_element(c: Conversion, element: ElementType) -> None:
    """Refuse an element type that the target opset does not have.

    Raises:
        RefusedError: naming the opset that has it.
    """
    if element in UNKNOWN_TO_ONNX:
        raise c.refuse(f"ONNX has no element type {element}", "convert the data to u8 or f16")
    since = ELEMENT_SINCE.get(element, 1)
    if c.opset < since:
        reason = f"element type {element} needs opset {since}, but {c.opset} is being written"
        raise c.refuse(reason, opset=since)


def convert(c: Conversion, value: Value, element: ElementType) -> Value:
    """Cast `value`, unless it has that element type already."""
    value = representable(c, value)
    if element_of(value) is element:
        return value
    require_element(c, element)
    known = c.constant_of(value) if isinstance(value.producer.op, Constant) else None
    if known is not None and element not in TINY_FLOATS and known.dtype.kind != "O":
        return c.constant(known, element)
    return c(conversions.Cast6(element), value)


def representable(c: Conversion, value: Value) -> Value:
    """Return `value` in a form that the target opset can hold.

    A constant of a type that the opset lacks, or of f4e2m1, is stored in a wider type. A large
    constant of nf4 or f4e2m1 becomes a lookup in a table of the 16 numbers of its type.

    Raises:
        RefusedError: for any other value of a type that the opset lacks.
    """
    element, op = element_of(value), value.producer.op
    known = element not in UNKNOWN_TO_ONNX and c.opset >= ELEMENT_SINCE.get(element, 1)
    if element in LISTED and isinstance(op, Constant) and op.tensor.count > TABLE_FROM:
        return _looked_up(c, op.tensor, f"{value.producer.name}/codes")
    if isinstance(op, Constant) and (not known or element is ElementType.F4E2M1):
        # ONNX Runtime 1.31 has no Cast of f4e2m1, so its values are stored in a wider type.
        return c.tensor(UnpackedTensor(op.tensor), f"{value.producer.name}/unpacked")
    require_element(c, element)
    return value


def _looked_up(c: Conversion, tensor: Tensor, name: str) -> Value:
    """Emit a constant of a 4-bit type as a Gather from a table of the 16 numbers of the type.

    The indices into the table are stored as u4 if the opset has this type, else as u8.
    """
    narrow = ElementType.U4 if c.opset >= ELEMENT_SINCE[ElementType.U4] else ElementType.U8
    codes = c.tensor(CodesTensor(tensor, narrow), name)
    table = c.constant(numbers_of_codes(tensor.element), STAND_INS[tensor.element])
    return gather(c, table, c(conversions.Cast6(ElementType.I32), codes), 0)


def computed_in(
    c: Conversion, element: ElementType, build: Callable[..., Value], *values: Value
) -> Value:
    """Call `build` with `values` cast to `element`, and cast its result.

    The result is cast to the type of the first value.
    """
    original = element_of(values[0])
    return convert(c, build(*(convert(c, value, element) for value in values)), original)


def computing_type(
    c: Conversion, element: ElementType, *, small: int | None = 14, half: int | None = 14
) -> ElementType:
    """Choose the element type to compute in: `element` if it is supported, else a wider type.

    `small` is the opset from which the operation takes 8-bit integers, `half` the opset from which
    it takes 16-bit integers (None: it never does). bf16 is computed in f32: ONNX Runtime does not
    support bf16, and the runtimes that support it compute in f32 as well.
    """
    if element not in _PARTLY_SUPPORTED:
        return element
    if element in BYTES and (small is None or c.opset < small):
        return ElementType.I32
    if element in SHORTS and (half is None or c.opset < half):
        return ElementType.I32
    if element in TINY_INTEGERS:
        return ElementType.I32
    return ElementType.F32 if element in TINY_FLOATS else element


def numeric(
    c: Conversion, op: Op, *values: Value, small: int | None = 14, half: int | None = 14
) -> Value:
    """Emit `op` on operands of one type, and convert them first if the operation lacks the type.

    `small` is the first opset in which the operation accepts 8-bit integers, and `half` the first
    opset in which it accepts 16-bit integers (None: it never does). The result has the type of the
    operands.
    """
    element = element_of(values[0])
    chosen = computing_type(c, element, small=small, half=half)
    if chosen is element:
        return c(op, *values)
    return computed_in(c, chosen, lambda *wide: c(op, *wide), *values)


def scalar(c: Conversion, number: float, like: Value) -> Value:
    """A scalar constant of the element type of `like`."""
    return c.constant(number, element_of(like))


def add(c: Conversion, left: Value, right: Value) -> Value:
    """left + right."""
    return numeric(c, elementwise.Add(), left, right)


def subtract(c: Conversion, left: Value, right: Value) -> Value:
    """left - right."""
    return numeric(c, elementwise.Sub(), left, right)


def multiply(c: Conversion, left: Value, right: Value) -> Value:
    """left * right."""
    return numeric(c, elementwise.Mul(), left, right)


def divide(c: Conversion, left: Value, right: Value) -> Value:
    """left / right; integers truncate."""
    return numeric(c, elementwise.Div(), left, right)


def maximum(c: Conversion, left: Value, right: Value) -> Value:
    """The elementwise maximum of two values."""
    return _extremum(c, elementwise.Max(), left, right)


def minimum(c: Conversion, left: Value, right: Value) -> Value:
    """The elementwise minimum of two values."""
    return _extremum(c, elementwise.Min(), left, right)


def _extremum(c: Conversion, op: Op, left: Value, right: Value) -> Value:
    alike = static_shape(left) == static_shape(right) and static_shape(left).is_static
    if c.opset >= 12 or (not element_of(left).is_integer and (alike or c.opset >= 8)):
        # ONNX Runtime does not compare 16-bit integers.
        return numeric(c, op, left, right, small=12, half=None)
    if c.opset < 8:
        # In this opset Max and Min do not broadcast, and ONNX Runtime has them for f32 only.
        first, second = (left, right) if isinstance(op, elementwise.Min) else (right, left)
        return select(c, less(c, left, right), first, second)
    # Before opset 12 only floats are compared; f64 represents 32-bit integers and sizes exactly.
    return computed_in(c, ElementType.F64, lambda *wide: c(op, *wide), left, right)


def less(c: Conversion, left: Value, right: Value) -> Value:
    """left < right."""
    return compared(c, comparison.Less(), left, right)


def greater(c: Conversion, left: Value, right: Value) -> Value:
    """left > right."""
    return compared(c, comparison.Greater(), left, right)


def equal(c: Conversion, left: Value, right: Value) -> Value:
    """left == right."""
    return compared(c, comparison.Equal(), left, right)


def compared(c: Conversion, op: Op, left: Value, right: Value) -> Value:
    """Emit the comparison `op` after casting both operands to a type that `op` accepts.

    The operands are numbers or booleans.
    """
    chosen = computing_type(c, element_of(left), small=9, half=9)
    a, b = convert(c, left, chosen), convert(c, right, chosen)
    if c.opset < 11 and chosen.is_float and isinstance(op, comparison.Equal):
        return older.equal_floats(c, a, b)
    if isinstance(op, comparison.Equal) and c.opset < 11 and chosen not in _EQUAL_7:
        # Unequal integers of 64 bits stay unequal as i64.
        return c(op, convert(c, a, ElementType.I64), convert(c, b, ElementType.I64))
    if c.opset >= 9 or chosen.is_float or isinstance(op, comparison.Equal):
        return c(op, a, b)
    a, b = convert(c, a, ElementType.I64), convert(c, b, ElementType.I64)
    return older.less_whole(c, *((a, b) if isinstance(op, comparison.Less) else (b, a)))


def logical_not(c: Conversion, value: Value) -> Value:
    """The logical negation."""
    return c(comparison.Not(), value)


def select(c: Conversion, condition: Value, then: Value, otherwise: Value) -> Value:
    """Emit a Where: elements of `then` where the condition is true, else of `otherwise`.

    Forms that the target opset or ONNX Runtime lacks are replaced by other operations.
    """
    if element_of(then) is ElementType.BOOLEAN:
        # Select by logic, because ONNX Runtime has no Where of booleans.
        rest = c(comparison.And(), logical_not(c, condition), otherwise)
        return c(comparison.Or(), c(comparison.And(), condition, then), rest)
    if element_of(then) is ElementType.U64:
        # Select by a sum, because ONNX Runtime has no Where of u64 and no other integer type holds
        # all of its values.
        kept = multiply(c, convert(c, condition, ElementType.U64), then)
        return add(
            c, kept, multiply(c, convert(c, logical_not(c, condition), ElementType.U64), otherwise)
        )
    chosen = computing_type(c, element_of(then), small=9, half=None)
    a, b = (convert(c, item, chosen) for item in (then, otherwise))
    made = None
    if c.opset < 9 and chosen.is_integer:
        made = older.chosen_integer(c, condition, a, b)
    elif c.opset < 9:
        made = older.chosen(c, condition, a, b)
    if made is None:
        made = c(comparison.Where(), condition, a, b)
    return convert(c, made, element_of(then))


def range_(c: Conversion, start: Value, limit: Value, delta: Value) -> Value:
    """The numbers from `start` up to, but excluding, `limit`, in steps of `delta`.

    The three bounds are scalars of one type. If a bound is computed from a known shape, ONNX
    Runtime's shape inference regards it as i64 even after a Cast to another type, and rejects a
    Range whose other bounds have that type. Integers are therefore counted in i64. Floats go
    through a Sum of one operand, because the inference does not follow a Sum.
    """
    element, bounds = element_of(start), (start, limit, delta)
    op = generate.Range27() if c.opset >= 27 else generate.Range()
    if c.opset < 11 and element.is_integer and c.constant_of(delta) == 1:
        begin, end = convert(c, start, ElementType.I64), convert(c, limit, ElementType.I64)
        count = maximum(c, subtract(c, end, begin), c.i64(0))
        return convert(c, add(c, numbers_below(c, count), begin), element)
    known = all(isinstance(bound.producer.op, Constant) for bound in bounds)
    if element is ElementType.I64 or known:
        return c(op, *bounds)
    if not element.is_integer:
        return c(op, *(c(elementwise.Sum(), bound) for bound in bounds))
    wide = (convert(c, bound, ElementType.I64) for bound in bounds)
    return convert(c, c(op, *wide), element)


def floor_divide(c: Conversion, left: Value, right: Value) -> Value:
    """left / right of integers, rounded toward minus infinity.

    The result is the truncated quotient, minus one where the remainder is not 0 and its sign
    differs from the divisor's.
    """

    def build(a: Value, b: Value) -> Value:
        quotient = c(elementwise.Div(), a, b)
        remainder = c(elementwise.Sub(), a, c(elementwise.Mul(), quotient, b))
        zero = scalar(c, 0, a)
        inexact = logical_not(c, c(comparison.Equal(), remainder, zero))
        opposite = c(
            comparison.Xor(), c(comparison.Less(), remainder, zero), c(comparison.Less(), b, zero)
        )
        down = c(comparison.And(), inexact, opposite)
        return c(elementwise.Sub(), quotient, convert(c, down, element_of(a)))

    element = element_of(left)
    if element.value.startswith("u"):
        return divide(c, left, right)
    return computed_in(c, computing_type(c, element), build, left, right)


def clip(c: Conversion, value: Value, low: float | None, high: float | None) -> Value:
    """Emit min(max(value, low), high) with constant bounds; a bound of None does not limit."""
    if low is None and high is None:
        return value
    chosen = computing_type(c, element_of(value), small=12, half=None)
    if chosen.is_integer and c.opset < 12:
        # Clip takes integers since opset 12.
        raised = value if low is None else maximum(c, value, scalar(c, low, value))
        return raised if high is None else minimum(c, raised, scalar(c, high, value))
    if c.opset < 11:
        limits = {"min": low, "max": high}
        given = {name: item for name, item in limits.items() if item is not None}
        return computed_in(c, chosen, lambda x: c(activation.Clip6(**given), x), value)

    def build(x: Value) -> Value:
        bounds = [None if item is None else scalar(c, item, x) for item in (low, high)]
        return c(activation.Clip11(), x, *bounds)

    return computed_in(c, chosen, build, value)


_BY_ATTRIBUTE = {
    "Sum": reduction.ReduceSum1,
    "Mean": reduction.ReduceMean1,
    "Prod": reduction.ReduceProd1,
    "Max": reduction.ReduceMax1,
    "Min": reduction.ReduceMin1,
    "L1": reduction.ReduceL11,
    "L2": reduction.ReduceL21,
}
_BY_INPUT = {
    "Sum": reduction.ReduceSum13,
    "Mean": reduction.ReduceMean18,
    "Prod": reduction.ReduceProd18,
    "Max": reduction.ReduceMax18,
    "Min": reduction.ReduceMin18,
    "L1": reduction.ReduceL118,
    "L2": reduction.ReduceL218,
}


def reduce(
    c: Conversion, kind: str, value: Value, axes: Sequence[int], *, keep: bool = True
) -> Value:
    """A reduction (Sum, Mean, Prod, Max, Min, L1, L2) over axes that are known and not empty."""
    rank = static_shape(value).rank
    if rank is not None:
        # ONNX Runtime 1.31 returns an empty value unchanged if an axis is negative.
        axes = [axis + rank if axis < 0 else axis for axis in axes]

    def build(x: Value) -> Value:
        since = 13 if kind == "Sum" else 18
        if c.opset >= since:
            return c(_BY_INPUT[kind](keepdims=keep), x, c.i64(list(axes)))
        return c(_BY_ATTRIBUTE[kind](axes=tuple(axes), keepdims=keep), x)

    return computed_in(c, _reducible(c, kind, element_of(value)), build, value)


def _reducible(c: Conversion, kind: str, element: ElementType) -> ElementType:
    """The element type in which a reduction of `element` is computed.

    It is i64 for u32, and for sums and products of u64, because ONNX Runtime lacks these
    reductions. Sums and products in i64 have the same bits as in u64.
    """
    if element is ElementType.U32 or (element is ElementType.U64 and kind in ("Sum", "Prod")):
        return ElementType.I64
    small = 12 if kind in ("Max", "Min") else None
    return computing_type(c, element, small=small, half=None)


def reduce_computed(
    c: Conversion, kind: str, value: Value, axes: Value, *, keep: bool = True
) -> Value:
    """Emit a reduction along computed axes; an empty list of axes reduces nothing.

    The axes are an input of ReduceSum since opset 13, and of the other reductions since opset 18.
    """
    listed = convert(c, axes, ElementType.I64)
    if static_shape(listed).rank == 0:
        listed = reshape(c, listed, [1])

    def build(x: Value) -> Value:
        return c(_BY_INPUT[kind](keepdims=keep, noop_with_empty_axes=True), x, listed)

    return computed_in(c, _reducible(c, kind, element_of(value)), build, value)


def softmax(c: Conversion, value: Value, axis: int) -> Value:
    """Softmax along one axis."""
    return _along(c, activation.Softmax13, activation.Softmax1, value, axis)


def log_softmax(c: Conversion, value: Value, axis: int) -> Value:
    """The logarithm of softmax along one axis."""
    return _along(c, activation.LogSoftmax13, activation.LogSoftmax1, value, axis)


def _along(
    c: Conversion,
    newer: type[activation.OneAxis],
    older: type[activation.Flattening],
    value: Value,
    axis: int,
) -> Value:
    def build(x: Value) -> Value:
        if c.opset >= 13:
            return c(newer(axis=axis), x)
        return _along_last(c, older, x, axis)

    return computed_in(c, computing_type(c, element_of(value)), build, value)


def _along_last(
    c: Conversion, older: type[activation.Flattening], value: Value, axis: int
) -> Value:
    # Before opset 13, all dimensions from `axis` on are normalised together, which is right only
    # for the last axis.
    rank = static_shape(value).rank
    if rank is None:
        raise c.refuse("its rank is not known", opset=13)
    last = axis % rank == rank - 1
    if last:
        return c(older(axis=rank - 1), value)
    order = list(range(rank))
    order[axis % rank], order[-1] = order[-1], order[axis % rank]
    moved = transpose(c, value, order)
    return transpose(c, c(older(axis=rank - 1), moved), order)
