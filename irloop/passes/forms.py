"""Emits the operations that passes most often insert: in ONNX or OpenVINO, as the model demands.

A pass that rewrites a loop, for instance, needs a Slice, a Gather or an Unsqueeze. Their inputs and
attributes depend on the dialect and the opset; the methods of `Forms` choose the right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from irloop.analysis.patterns import taken_over
from irloop.dialects.onnx import comparison as onnx_comparison
from irloop.dialects.onnx import convert as onnx_convert
from irloop.dialects.onnx import elementwise as onnx_elementwise
from irloop.dialects.onnx import gather as onnx_gather
from irloop.dialects.onnx import shape as onnx_shape
from irloop.dialects.onnx import slicing as onnx_slicing
from irloop.dialects.openvino import comparison as ov_comparison
from irloop.dialects.openvino import convert as ov_convert
from irloop.dialects.openvino import elementwise as ov_elementwise
from irloop.dialects.openvino import gather as ov_gather
from irloop.dialects.openvino import shape as ov_shape
from irloop.dialects.openvino import slicing as ov_slicing
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Sliced
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Parameter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import EIGHT_BIT_FLOATS, ElementType
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["Emitter", "Forms", "copy_of", "select"]

#: An end before the first element of every tensor, for slices in reverse order.
PAST_THE_FIRST = -(2**31 - 1)

#: For each element type for which ONNX Runtime has no Where, a wider type that it supports.
WITHOUT_WHERE = {
    ElementType.I16: ElementType.I32,
    ElementType.U16: ElementType.I32,
    ElementType.U64: ElementType.I64,
    ElementType.BF16: ElementType.F32,
}


class Emitter:
    """Emits operations before a node of a graph."""

    def __init__(self, rewriter: MatchRewriter, before: Node | None, stem: str) -> None:
        self.rewriter = rewriter
        self.before = before
        self.stem = stem
        self.names = rewriter.names

    def constant(self, data: Any, element: ElementType = ElementType.I64) -> Value:
        """Add a constant with the value of a number, a list or an array."""
        tensor = ArrayTensor(np.asarray(data).astype(element.numpy()), element)
        return self.rewriter.insert_constant(
            tensor, before=self.before, name=f"{self.stem}/constant"
        )

    def __call__(self, op: Any, *inputs: Value) -> Value:
        """Add a node and return its only output."""
        return self.rewriter.insert(
            op, inputs, before=self.before, name=f"{self.stem}/{op.type}"
        ).output

    def following(self) -> Self:
        """Return an emitter of the same graph that adds operations after the node, not before."""
        made = copy(self)
        assert self.before is not None
        made.before = self.before.following
        return made

    def own_copy(self, value: Value) -> Value:
        """Emit a copy of `value` in memory of its own, for OpenVINO."""
        return copy_of(value, self)


def copy_of(value: Value, emit: Callable[..., Value]) -> Value:
    """A copy of `value` in its own memory; `emit` appends an operation and returns its output.

    8-bit floats are copied as f32 (fault OVN125).
    """
    element = element_of(value)
    if element is ElementType.BOOLEAN:
        return emit(ov_comparison.LogicalOr(), value, value)
    if element not in EIGHT_BIT_FLOATS:
        return emit(ov_elementwise.Maximum(), value, value)
    wide = emit(ov_convert.Convert(ElementType.F32), value)
    return emit(ov_convert.Convert(element), emit(ov_elementwise.Maximum(), wide, wide))


def select(emit: Callable[..., Value], condition: Value, then: Value, otherwise: Value) -> Value:
    """Select the elements of `then` where the condition is true, else of `otherwise` (OpenVINO).

    `emit` appends an operation and returns its output. Booleans are selected by logical operations
    instead of a Select: OpenVINO's CPU plugin computes booleans as u8, but leaves a constant
    condition boolean. It therefore refuses a Select that reads the same constant as its condition
    and as one of its choices.
    """
    if element_of(then) is not ElementType.BOOLEAN:
        return emit(ov_comparison.Select(), condition, then, otherwise)
    opposite = emit(ov_comparison.LogicalNot(), condition)
    first = emit(ov_comparison.LogicalAnd(), condition, then)
    second = emit(ov_comparison.LogicalAnd(), opposite, otherwise)
    return emit(ov_comparison.LogicalOr(), first, second)


class Forms(Emitter):
    """Emits operations that both dialects have, in the dialect of the model."""

    def __init__(
        self, model: Model, rewriter: MatchRewriter, before: Node | None, stem: str
    ) -> None:
        super().__init__(rewriter, before, stem)
        self.onnx = model.dialect == "onnx"
        self.opset = model.opsets.get("", 0)

    def take(self, value: Value, indices: int | list[int], axis: int) -> Value:
        """Emit a Gather of constant indices of `axis`; a single integer removes the axis."""
        return self.gather(value, self.constant(indices), axis)

    def gather(self, value: Value, indices: Value, axis: int) -> Value:
        """Emit a Gather of computed, non-negative indices of `axis`."""
        if self.onnx:
            return self(onnx_gather.Gather(axis), value, indices)
        return self(ov_gather.Gather(), value, indices, self.constant(axis))

    def concat(self, values: list[Value], axis: int) -> Value:
        """Concatenate the values along `axis`; a single value is returned itself."""
        if len(values) == 1:
            return values[0]
        op = onnx_slicing.Concat(axis) if self.onnx else ov_slicing.Concat(axis)
        return self(op, *values)

    def unsqueeze(self, value: Value, axis: int) -> Value:
        """Emit an Unsqueeze that inserts an axis of size 1 at `axis`."""
        if not self.onnx:
            return self(ov_shape.Unsqueeze(), value, self.constant([axis]))
        if self.opset >= 13:
            return self(onnx_shape.Unsqueeze13(), value, self.constant([axis]))
        return self(onnx_shape.Unsqueeze((axis,)), value)

    def squeeze(self, value: Value, axis: int) -> Value:
        """Emit a Squeeze that removes `axis`, which has size 1."""
        if not self.onnx:
            return self(ov_shape.Squeeze(), value, self.constant([axis]))
        if self.opset >= 13:
            return self(onnx_shape.Squeeze13(), value, self.constant([axis]))
        return self(onnx_shape.Squeeze((axis,)), value)

    def reshape(self, value: Value, dims: Sequence[int]) -> Value:
        """Emit a Reshape of `value` to `dims`, of which one may be -1."""
        if not self.onnx:
            return self(ov_shape.Reshape(), value, self.constant(list(dims)))
        if self.opset < 5:
            return self(onnx_shape.Reshape1(tuple(dims)), value)
        op = onnx_shape.Reshape14() if self.opset >= 14 else onnx_shape.Reshape()
        return self(op, value, self.constant(list(dims)))

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """Emit a Transpose with this order of axes; `value` itself if the order does not change."""
        if list(order) == sorted(order):
            return value
        if self.onnx:
            return self(onnx_shape.Transpose(tuple(order)), value)
        return self(ov_shape.Transpose(), value, self.constant(list(order)))

    def moved(self, value: Value, source: int, target: int, rank: int) -> Value:
        """Emit a Transpose that moves axis `source` of `value` to position `target`."""
        rest = [axis for axis in range(rank) if axis != source]
        return self.transpose(value, [*rest[:target], source, *rest[target:]])

    def slice(self, value: Value, axis: int, start: int, end: int) -> Value:
        """Return the elements of `value` from `start` up to, but not including, `end` on `axis`.

        `start` and `end` must not be negative.
        """
        return self._slice(value, axis, start, end, 1)

    def range_of(self, value: Value, port: Sliced) -> Value:
        """Return the part of `value` between the start and the end of `port`.

        Usually a Slice is added for this. If the part is the whole axis, or if the size of the axis
        is unknown, `value` itself is returned.
        """
        size = shape_of(value).dim(port.axis)
        if (port.start, port.end) in ((0, -1), (-1, 0)) or not isinstance(size, int):
            return value
        low, high = sorted(size + 1 + v if v < 0 else v for v in (port.start, port.end))
        return value if (low, high) == (0, size) else self.slice(value, port.axis, low, high)

    def reverse(self, value: Value, axis: int) -> Value:
        """Emit an operation that reverses the order of the elements along `axis`."""
        size = shape_of(value).dims
        known = None if size is None else size[axis]
        if self.onnx and self.opset < 10:
            # Before opset 10, Slice has no steps: gather in reverse order, which needs a known
            # size.
            assert isinstance(known, int)
            return self.take(value, list(range(known - 1, -1, -1)), axis)
        return self._slice(value, axis, -1, PAST_THE_FIRST, -1)

    def _slice(self, value: Value, axis: int, start: int, end: int, step: int) -> Value:
        if not self.onnx:
            # The mask leaves both bounds open, so that a reversed slice includes the first element.
            mask = (1,) * axis + (int(step < 0),)
            op = ov_slicing.StridedSlice(begin_mask=mask, end_mask=mask)
            bounds = [self.constant([0] * axis + [item]) for item in (start, end)]
            return self(op, value, *bounds, self.constant([1] * axis + [step]))
        if self.opset < 10:
            return self(onnx_slicing.Slice((start,), (end,), (axis,)), value)
        numbers = [self.constant([item]) for item in (start, end, axis, step)]
        return self(onnx_slicing.Slice10(), value, *numbers)

    def shape_of(self, value: Value) -> Value:
        """Emit a ShapeOf or Shape: the dimensions of `value` as an i64 vector."""
        if not self.onnx:
            return self(ov_shape.ShapeOf3(), value)
        op = onnx_shape.Shape15() if self.opset >= 15 else onnx_shape.Shape1()
        return self(op, value)

    def size_of(self, value: Value, axis: int) -> Value:
        """Emit dimension `axis` of `value` as an i64 scalar, which is constant if it is known."""
        dims = shape_of(value).dims
        known = None if dims is None else dims[axis]
        if isinstance(known, int):
            return self.constant(known)
        return self.take(self.shape_of(value), axis, 0)

    def add(self, left: Value, right: Value) -> Value:
        """Emit `left` + `right`."""
        return self(onnx_elementwise.Add() if self.onnx else ov_elementwise.Add(), left, right)

    def subtract(self, left: Value, right: Value) -> Value:
        """Emit `left` - `right`."""
        op = onnx_elementwise.Sub() if self.onnx else ov_elementwise.Subtract()
        return self(op, left, right)

    def multiply(self, left: Value, right: Value) -> Value:
        """Emit `left` * `right`."""
        op = onnx_elementwise.Mul() if self.onnx else ov_elementwise.Multiply()
        return self(op, left, right)

    def less(self, left: Value, right: Value) -> Value:
        """Emit the comparison `left` < `right`, element by element."""
        return self(onnx_comparison.Less() if self.onnx else ov_comparison.Less(), left, right)

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """Select the elements of `then` where `condition` is true, else those of `otherwise`."""
        if not self.onnx:
            return select(self, condition, then, otherwise)
        element = element_of(then)
        if element is ElementType.BOOLEAN:
            rest = self(onnx_comparison.And(), self(onnx_comparison.Not(), condition), otherwise)
            first = self(onnx_comparison.And(), condition, then)
            return self(onnx_comparison.Or(), first, rest)
        wide = WITHOUT_WHERE.get(element, element)
        values = (self.convert(value, wide) for value in (then, otherwise))
        made = self(onnx_comparison.Where(), condition, *values)
        return self.convert(made, element)

    def convert(self, value: Value, element: ElementType) -> Value:
        """Emit a conversion to another element type; `value` itself if it already has this type."""
        if element_of(value) is element:
            return value
        return self(
            onnx_convert.Cast6(element) if self.onnx else ov_convert.Convert(element), value
        )

    def named_apart(self, value: Value, output: Value) -> Value:
        """Return `value`, or a copy of it, as the replacement of `output`.

        A copy is needed if `output` is an output of the graph, and `value` is an input or another
        output of the graph: both must keep their names, but a value has only one name.
        """
        shown = output.is_output
        taken = value.is_output
        if not shown or not (taken or isinstance(value.producer.op, Parameter)):
            return value
        return self.copied(value)

    def copied(self, value: Value) -> Value:
        """Emit a copy of the value, which has a name of its own."""
        if self.onnx:
            return self(onnx_convert.Identity(), value)
        if taken_over(value):
            # A Convert without effect is fault OVN128.
            return self(ov_elementwise.Maximum(), value, value)
        return self(ov_convert.Convert(element_of(value)), value)
