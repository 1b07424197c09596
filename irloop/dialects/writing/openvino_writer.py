"""The vocabulary of OpenVINO: emits operations up to the opset."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.dialects.openvino import activation, comparison, elementwise, reduction
from irloop.dialects.openvino import convert as conversions
from irloop.dialects.unpacked import STAND_INS, UnpackedTensor
from irloop.dialects.writing.element_types import UNKNOWN_TO_OPENVINO
from irloop.dialects.writing.openvino_shapes import OpenVinoShapes
from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.types import EIGHT_BIT_FLOATS, ElementType

__all__ = ["OpenVinoWriter"]

_REDUCTIONS = {
    "Sum": reduction.ReduceSum,
    "Mean": reduction.ReduceMean,
    "Prod": reduction.ReduceProd,
    "Max": reduction.ReduceMax,
    "Min": reduction.ReduceMin,
    "L1": reduction.ReduceL1,
    "L2": reduction.ReduceL2,
    "And": reduction.ReduceLogicalAnd,
    "Or": reduction.ReduceLogicalOr,
}


class OpenVinoWriter(OpenVinoShapes):
    """Emits OpenVINO operations."""

    def convert_always(self, value: Value, element: ElementType) -> Value:
        if element in UNKNOWN_TO_OPENVINO:
            raise self.refuse(f"OpenVINO IR has no element type {element}")
        if element is ElementType.BOOLEAN and element_of(value) is ElementType.BOOLEAN:
            return self(comparison.LogicalOr(), value, value)
        return self(conversions.Convert(element), self.representable(value))

    def representable(self, value: Value) -> Value:
        """Return `value` in an element type that OpenVINO has.

        A constant of an unsupported type is replaced by one of a wider type with the same elements.

        Raises:
            RefusedError: for any other value of an unsupported type.
        """
        element, op = element_of(value), value.producer.op
        if element not in UNKNOWN_TO_OPENVINO:
            return value
        if isinstance(op, Constant) and element in STAND_INS:
            return self.tensor(UnpackedTensor(op.tensor), f"{value.producer.name}/unpacked")
        raise self.refuse(f"OpenVINO IR has no element type {element}")

    def convert(self, value: Value, element: ElementType) -> Value:
        """Convert `value` to the type `element`; return it unchanged if it has this type
        already."""
        return value if element_of(value) is element else self.convert_always(value, element)

    def in_f32(self, build: Callable[..., Value], *values: Value) -> Value:
        """Call `build` with `values`, and compute in f32 if the first value is f16 or bf16.

        For this, all values are converted to f32, and the result is converted back to the type
        of the first value. Runtimes compute 16-bit floats in the same way.
        """
        element = element_of(values[0])
        chosen = ElementType.F32 if element in (ElementType.F16, ElementType.BF16) else element
        wide = build(*(self.convert(value, chosen) for value in values))
        return self.convert(wide, element)

    def add(self, left: Value, right: Value) -> Value:
        return self(elementwise.Add(), left, right)

    def subtract(self, left: Value, right: Value) -> Value:
        return self(elementwise.Subtract(), left, right)

    def multiply(self, left: Value, right: Value) -> Value:
        return self(elementwise.Multiply(), left, right)

    def divide(self, left: Value, right: Value) -> Value:
        truncate = element_of(left).is_integer
        return self(elementwise.Divide(m_pythondiv=not truncate), left, right)

    def maximum(self, left: Value, right: Value) -> Value:
        return self(elementwise.Maximum(), left, right)

    def minimum(self, left: Value, right: Value) -> Value:
        return self(elementwise.Minimum(), left, right)

    def less(self, left: Value, right: Value) -> Value:
        return self(comparison.Less(), left, right)

    def greater(self, left: Value, right: Value) -> Value:
        return self(comparison.Greater(), left, right)

    def equal(self, left: Value, right: Value) -> Value:
        return self(comparison.Equal(), left, right)

    def logical_not(self, value: Value) -> Value:
        return self(comparison.LogicalNot(), value)

    def reduce(
        self, kind: str, value: Value, axes: Value | Sequence[int], *, keep: bool = True
    ) -> Value:
        """A reduction (Sum, Mean, Prod, Max, Min, L1, L2, And, Or) over axes that may be empty."""
        listed = axes if isinstance(axes, Value) else self.i64(list(axes))
        return self(_REDUCTIONS[kind](keep_dims=keep), value, listed)

    def marks_of_axes(self, axes: Value, rank: int) -> Value:
        """An i64 list of length `rank`, with 1 for each axis in `axes` and 0 for the others.

        `axes` is an integer list or scalar that is computed; negative ones count from the end.
        """
        listed = self.convert(axes, ElementType.I64)
        turned = self.select(
            self.less(listed, self.i64(0)), self.add(listed, self.i64(rank)), listed
        )
        hits = self.equal(self.i64([[at] for at in range(rank)]), turned)
        return self.reduce("Max", self.convert(hits, ElementType.I64), [1], keep=False)

    def softmax(self, value: Value, axis: int) -> Value:
        """Softmax along `axis`.

        Before opset8, a negative axis requires a known rank.

        Raises:
            RefusedError: before opset8, if the axis is negative and the rank is unknown.
        """
        if self.opset >= 8:
            return self(activation.SoftMax8(axis=axis), value)
        rank = static_shape(value).rank
        if axis < 0 and rank is None:
            raise self.refuse("its axis is negative, and the rank is not known", "write opset8")
        return self(activation.SoftMax1(axis=axis + (rank or 0) if axis < 0 else axis), value)

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Select the elements of `then` where `condition` is true, else those of `otherwise`.

        Booleans are selected by logical operations instead of a Select: OpenVINO's CPU plugin
        computes booleans as u8, but leaves a constant condition boolean. It therefore refuses a
        Select that reads the same constant as its condition and as one of its choices.
        """
        if element_of(then) is not ElementType.BOOLEAN:
            return self(comparison.Select(), condition, then, otherwise)
        opposite = self(comparison.LogicalNot(), condition)
        first = self(comparison.LogicalAnd(), condition, then)
        second = self(comparison.LogicalAnd(), opposite, otherwise)
        return self(comparison.LogicalOr(), first, second)

    def identity(self, value: Value) -> Value:
        """A conversion to the type of the value."""
        return self(conversions.Convert(element_of(value)), value)

    def own_copy(self, value: Value) -> Value:
        """Emit a copy of `value` in memory of its own (see the pass body_barriers).

        8-bit floats are copied as f32 (fault OVN125).
        """
        element = element_of(value)
        if element is ElementType.BOOLEAN:
            return self(comparison.LogicalOr(), value, value)
        if element not in EIGHT_BIT_FLOATS:
            return self(elementwise.Maximum(), value, value)
        wide = self(conversions.Convert(ElementType.F32), value)
        return self(conversions.Convert(element), self(elementwise.Maximum(), wide, wide))
