"""The vocabulary of ONNX: emits operations in the form that the opset or element type needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.dialects.onnx import activation, comparison, elementwise, generate, reduction, search
from irloop.dialects.onnx import convert as conversions
from irloop.dialects.onnx.base import SHORTS, TINY_FLOATS, TINY_INTEGERS
from irloop.dialects.unpacked import STAND_INS, CodesTensor, UnpackedTensor, numbers_of_codes
from irloop.dialects.writing import onnx_older as older
from irloop.dialects.writing.element_types import ELEMENT_SINCE
from irloop.dialects.writing.onnx_shapes import OnnxShapes
from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.model import Value
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType

__all__ = ["OnnxWriter"]

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


class OnnxWriter(OnnxShapes):
    """Emits ONNX operations.

    A type that an operation lacks, in the opset or in ONNX Runtime, is computed in a wider one.
    """

    def require_element(self, element: ElementType) -> None:
        """Refuse an element type that the target opset does not have.

        Raises:
            RefusedError: naming the opset that has it.
        """
        if element in UNKNOWN_TO_ONNX:
            raise self.refuse(
                f"ONNX has no element type {element}", "convert the data to u8 or f16"
            )
        since = ELEMENT_SINCE.get(element, 1)
        if self.opset < since:
            reason = (
                f"element type {element} needs opset {since}, but {self.opset} is being written"
            )
            raise self.refuse(reason, opset=since)

    def convert(self, value: Value, element: ElementType) -> Value:
        value = self.representable(value)
        if element_of(value) is element:
            return value
        self.require_element(element)
        known = self.constant_of(value) if isinstance(value.producer.op, Constant) else None
        if known is not None and element not in TINY_FLOATS and known.dtype.kind != "O":
            return self.constant(known, element)
        return self(conversions.Cast6(element), value)

    def representable(self, value: Value) -> Value:
        """Return `value` in a form that the target opset can hold.

        A constant of a type that the opset lacks, or of f4e2m1, is stored in a wider type. A large
        constant of nf4 or f4e2m1 becomes a lookup in a table of the 16 numbers of its type.

        Raises:
            RefusedError: for any other value of a type that the opset lacks.
        """
        element, op = element_of(value), value.producer.op
        known = element not in UNKNOWN_TO_ONNX and self.opset >= ELEMENT_SINCE.get(element, 1)
        if element in LISTED and isinstance(op, Constant) and op.tensor.count > TABLE_FROM:
            return self._looked_up(op.tensor, f"{value.producer.name}/codes")
        if isinstance(op, Constant) and (not known or element is ElementType.F4E2M1):
            # ONNX Runtime 1.31 has no Cast of f4e2m1, so its values are stored in a wider type.
            return self.tensor(UnpackedTensor(op.tensor), f"{value.producer.name}/unpacked")
        self.require_element(element)
        return value

    def _looked_up(self, tensor: Tensor, name: str) -> Value:
        """Emit a constant of a 4-bit type as a Gather from a table of the 16 numbers of the type.

        The indices into the table are stored as u4 if the opset has this type, else as u8.
        """
        narrow = ElementType.U4 if self.opset >= ELEMENT_SINCE[ElementType.U4] else ElementType.U8
        codes = self.tensor(CodesTensor(tensor, narrow), name)
        table = self.constant(numbers_of_codes(tensor.element), STAND_INS[tensor.element])
        return self.gather(table, self(conversions.Cast6(ElementType.I32), codes), 0)

    def computed_in(
        self, element: ElementType, build: Callable[..., Value], *values: Value
    ) -> Value:
        """Call `build` with `values` cast to `element`, and cast its result.

        The result is cast to the type of the first value.
        """
        original = element_of(values[0])
        return self.convert(build(*(self.convert(value, element) for value in values)), original)

    def computing_type(
        self, element: ElementType, *, small: int | None = 14, half: int | None = 14
    ) -> ElementType:
        """Choose the element type to compute in: `element` if it is supported, else a wider type.

        `small` is the opset from which the operation takes 8-bit integers, `half` the opset from
        which it takes 16-bit integers (None: it never does). bf16 is computed in f32: ONNX Runtime
        does not support bf16, and the runtimes that support it compute in f32 as well.
        """
        if element not in _PARTLY_SUPPORTED:
            return element
        if element in BYTES and (small is None or self.opset < small):
            return ElementType.I32
        if element in SHORTS and (half is None or self.opset < half):
            return ElementType.I32
        if element in TINY_INTEGERS:
            return ElementType.I32
        return ElementType.F32 if element in TINY_FLOATS else element

    def numeric(
        self, op: Op, *values: Value, small: int | None = 14, half: int | None = 14
    ) -> Value:
        """Emit `op` on operands of one type, and convert them first if the operation lacks the
        type.

        `small` is the first opset in which the operation accepts 8-bit integers, and `half` the
        first opset in which it accepts 16-bit integers (None: it never does). The result has the
        type of the operands.
        """
        element = element_of(values[0])
        chosen = self.computing_type(element, small=small, half=half)
        if chosen is element:
            return self(op, *values)
        return self.computed_in(chosen, lambda *wide: self(op, *wide), *values)

    def add(self, left: Value, right: Value) -> Value:
        return self.numeric(elementwise.Add(), left, right)

    def subtract(self, left: Value, right: Value) -> Value:
        return self.numeric(elementwise.Sub(), left, right)

    def multiply(self, left: Value, right: Value) -> Value:
        return self.numeric(elementwise.Mul(), left, right)

    def divide(self, left: Value, right: Value) -> Value:
        return self.numeric(elementwise.Div(), left, right)

    def maximum(self, left: Value, right: Value) -> Value:
        return self._extremum(elementwise.Max(), left, right)

    def minimum(self, left: Value, right: Value) -> Value:
        return self._extremum(elementwise.Min(), left, right)

    def _extremum(self, op: Op, left: Value, right: Value) -> Value:
        alike = static_shape(left) == static_shape(right) and static_shape(left).is_static
        if self.opset >= 12 or (not element_of(left).is_integer and (alike or self.opset >= 8)):
            # ONNX Runtime does not compare 16-bit integers.
            return self.numeric(op, left, right, small=12, half=None)
        if self.opset < 8:
            # In this opset Max and Min do not broadcast, and ONNX Runtime has them for f32 only.
            first, second = (left, right) if isinstance(op, elementwise.Min) else (right, left)
            return self.select(self.less(left, right), first, second)
        # Before opset 12 only floats are compared; f64 represents 32-bit integers and sizes
        # exactly.
        return self.computed_in(ElementType.F64, lambda *wide: self(op, *wide), left, right)

    def less(self, left: Value, right: Value) -> Value:
        return self.compared(comparison.Less(), left, right)

    def greater(self, left: Value, right: Value) -> Value:
        return self.compared(comparison.Greater(), left, right)

    def equal(self, left: Value, right: Value) -> Value:
        return self.compared(comparison.Equal(), left, right)

    def compared(self, op: Op, left: Value, right: Value) -> Value:
        """Emit the comparison `op` after casting both operands to a type that `op` accepts.

        The operands are numbers or booleans.
        """
        chosen = self.computing_type(element_of(left), small=9, half=9)
        a, b = self.convert(left, chosen), self.convert(right, chosen)
        if self.opset < 11 and chosen.is_float and isinstance(op, comparison.Equal):
            return older.equal_floats(self, a, b)
        if isinstance(op, comparison.Equal) and self.opset < 11 and chosen not in _EQUAL_7:
            # Unequal integers of 64 bits stay unequal as i64.
            return self(op, self.convert(a, ElementType.I64), self.convert(b, ElementType.I64))
        if self.opset >= 9 or chosen.is_float or isinstance(op, comparison.Equal):
            return self(op, a, b)
        a, b = self.convert(a, ElementType.I64), self.convert(b, ElementType.I64)
        return older.less_whole(self, *((a, b) if isinstance(op, comparison.Less) else (b, a)))

    def logical_not(self, value: Value) -> Value:
        return self(comparison.Not(), value)

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Emit a Where: elements of `then` where the condition is true, else of `otherwise`.

        Forms that the target opset or ONNX Runtime lacks are replaced by other operations.
        """
        if element_of(then) is ElementType.BOOLEAN:
            # Select by logic, because ONNX Runtime has no Where of booleans.
            rest = self(comparison.And(), self.logical_not(condition), otherwise)
            return self(comparison.Or(), self(comparison.And(), condition, then), rest)
        if element_of(then) is ElementType.U64:
            # Select by a sum, because ONNX Runtime has no Where of u64 and no other integer type
            # holds all of its values.
            kept = self.multiply(self.convert(condition, ElementType.U64), then)
            return self.add(
                kept,
                self.multiply(
                    self.convert(self.logical_not(condition), ElementType.U64), otherwise
                ),
            )
        chosen = self.computing_type(element_of(then), small=9, half=None)
        a, b = (self.convert(item, chosen) for item in (then, otherwise))
        made = None
        if self.opset < 9 and chosen.is_integer:
            made = older.chosen_integer(self, condition, a, b)
        elif self.opset < 9:
            made = older.chosen(self, condition, a, b)
        if made is None:
            made = self(comparison.Where(), condition, a, b)
        return self.convert(made, element_of(then))

    def range(self, start: Value, limit: Value, delta: Value) -> Value:
        """The numbers from `start` up to, but excluding, `limit`, in steps of `delta`.

        The three bounds are scalars of one type. If a bound is computed from a known shape, ONNX
        Runtime's shape inference regards it as i64 even after a Cast to another type, and rejects a
        Range whose other bounds have that type. Integers are therefore counted in i64. Floats go
        through a Sum of one operand, because the inference does not follow a Sum.
        """
        element, bounds = element_of(start), (start, limit, delta)
        op = generate.Range27() if self.opset >= 27 else generate.Range()
        if self.opset < 11 and element.is_integer and self.constant_of(delta) == 1:
            begin, end = self.convert(start, ElementType.I64), self.convert(limit, ElementType.I64)
            count = self.maximum(self.subtract(end, begin), self.i64(0))
            return self.convert(self.add(self.numbers_below(count), begin), element)
        known = all(isinstance(bound.producer.op, Constant) for bound in bounds)
        if element is ElementType.I64 or known:
            return self(op, *bounds)
        if not element.is_integer:
            return self(op, *(self(elementwise.Sum(), bound) for bound in bounds))
        wide = (self.convert(bound, ElementType.I64) for bound in bounds)
        return self.convert(self(op, *wide), element)

    def numbers_below(self, count: Value) -> Value:
        if self.opset >= 11:
            return super().numbers_below(count)
        if self.opset < 9:
            return self.iteration_numbers(count)
        ones = self.constant_of_shape(self.reshape(count, [1]), 1, ElementType.I64)
        return self.reshape(self(search.NonZero(), ones), [-1])

    def iteration_numbers(self, count: Value) -> Value:
        """Do the same in opsets without NonZero, if the writer can make a loop.

        Raises:
            RefusedError: if it cannot.
        """
        raise self.refuse("it counts up to a computed number", opset=9)

    def floor_divide(self, left: Value, right: Value) -> Value:
        """left / right of integers, rounded toward minus infinity.

        The result is the truncated quotient, minus one where the remainder is not 0 and its sign
        differs from the divisor's.
        """

        def build(a: Value, b: Value) -> Value:
            quotient = self(elementwise.Div(), a, b)
            remainder = self(elementwise.Sub(), a, self(elementwise.Mul(), quotient, b))
            zero = self.scalar(0, a)
            inexact = self.logical_not(self(comparison.Equal(), remainder, zero))
            opposite = self(comparison.Xor(), self.less(remainder, zero), self.less(b, zero))
            down = self(comparison.And(), inexact, opposite)
            return self(elementwise.Sub(), quotient, self.convert(down, element_of(a)))

        element = element_of(left)
        if element.value.startswith("u"):
            return self.divide(left, right)
        return self.computed_in(self.computing_type(element), build, left, right)

    def clip(self, value: Value, low: float | None, high: float | None) -> Value:
        """Emit min(max(value, low), high) with constant bounds; a bound of None does not limit."""
        if low is None and high is None:
            return value
        chosen = self.computing_type(element_of(value), small=12, half=None)
        if chosen.is_integer and self.opset < 12:
            # Clip takes integers since opset 12.
            raised = value if low is None else self.maximum(value, self.scalar(low, value))
            return raised if high is None else self.minimum(raised, self.scalar(high, value))
        if self.opset < 11:
            limits = {"min": low, "max": high}
            given = {name: item for name, item in limits.items() if item is not None}
            return self.computed_in(chosen, lambda x: self(activation.Clip6(**given), x), value)

        def build(x: Value) -> Value:
            bounds = [None if item is None else self.scalar(item, x) for item in (low, high)]
            return self(activation.Clip11(), x, *bounds)

        return self.computed_in(chosen, build, value)

    def reduce(self, kind: str, value: Value, axes: Sequence[int], *, keep: bool = True) -> Value:
        """A reduction (Sum, Mean, Prod, Max, Min, L1, L2) over axes that are known and not
        empty."""
        rank = static_shape(value).rank
        if rank is not None:
            # ONNX Runtime 1.31 returns an empty value unchanged if an axis is negative.
            axes = [axis + rank if axis < 0 else axis for axis in axes]

        def build(x: Value) -> Value:
            since = 13 if kind == "Sum" else 18
            if self.opset >= since:
                return self(_BY_INPUT[kind](keepdims=keep), x, self.i64(list(axes)))
            return self(_BY_ATTRIBUTE[kind](axes=tuple(axes), keepdims=keep), x)

        return self.computed_in(self._reducible(kind, element_of(value)), build, value)

    def _reducible(self, kind: str, element: ElementType) -> ElementType:
        """The element type in which a reduction of `element` is computed.

        It is i64 for u32, and for sums and products of u64, because ONNX Runtime lacks these
        reductions. Sums and products in i64 have the same bits as in u64.
        """
        if element is ElementType.U32 or (element is ElementType.U64 and kind in ("Sum", "Prod")):
            return ElementType.I64
        small = 12 if kind in ("Max", "Min") else None
        return self.computing_type(element, small=small, half=None)

    def reduce_computed(self, kind: str, value: Value, axes: Value, *, keep: bool = True) -> Value:
        """Emit a reduction along computed axes; an empty list of axes reduces nothing.

        The axes are an input of ReduceSum since opset 13, and of the other reductions since opset
        18.
        """
        listed = self.convert(axes, ElementType.I64)
        if static_shape(listed).rank == 0:
            listed = self.reshape(listed, [1])

        def build(x: Value) -> Value:
            return self(_BY_INPUT[kind](keepdims=keep, noop_with_empty_axes=True), x, listed)

        return self.computed_in(self._reducible(kind, element_of(value)), build, value)

    def softmax(self, value: Value, axis: int) -> Value:
        return self._along(activation.Softmax13, activation.Softmax1, value, axis)

    def log_softmax(self, value: Value, axis: int) -> Value:
        """The logarithm of softmax along one axis."""
        return self._along(activation.LogSoftmax13, activation.LogSoftmax1, value, axis)

    def _along(
        self,
        newer: type[activation.OneAxis],
        older: type[activation.Flattening],
        value: Value,
        axis: int,
    ) -> Value:
        def build(x: Value) -> Value:
            if self.opset >= 13:
                return self(newer(axis=axis), x)
            return self._along_last(older, x, axis)

        return self.computed_in(self.computing_type(element_of(value)), build, value)

    def _along_last(self, older: type[activation.Flattening], value: Value, axis: int) -> Value:
        # Before opset 13, all dimensions from `axis` on are normalised together, which is right
        # only for the last axis.
        rank = static_shape(value).rank
        if rank is None:
            raise self.refuse("its rank is not known", opset=13)
        last = axis % rank == rank - 1
        if last:
            return self(older(axis=rank - 1), value)
        order = list(range(rank))
        order[axis % rank], order[-1] = order[-1], order[axis % rank]
        moved = self.transpose(value, order)
        return self.transpose(self(older(axis=rank - 1), moved), order)
