"""Reductions of versions 2 to 7; the second input lists the axes."""

from __future__ import annotations

from typing import ClassVar

from irloop.dialects.openvino import comparison, elementwise
from irloop.dialects.openvino import reduction as today
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.legacy.base import LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.steps import Steps
from irloop.graph.model import Value
from irloop.graph.op import attribute


class Reducing(LegacyLayer):
    """The base of the reductions."""

    keep: bool = attribute(default=True, name="keep_dims")
    today: ClassVar[type[today.Reduction]] = today.ReduceSum

    def build(self, s: Steps, x: Value, axes: Value) -> Value:
        known = s.numbers(axes)
        if known is None:
            raise LayerFault("reduces axes that are computed", expected="axes in a Const")
        return self.reduced(s, x, sorted({s.axis(axis, x) for axis in known}))

    def reduced(self, s: Steps, x: Value, axes: list[int]) -> Value:
        """The reduction over known axes."""
        return s(self.today(keep_dims=self.keep), x, s.i64(axes))


class ReduceSum(Reducing, type="ReduceSum", inputs=2):
    """The sum."""


class ReduceMean(Reducing, type="ReduceMean", inputs=2):
    """The mean."""

    today = today.ReduceMean


class ReduceProd(Reducing, type="ReduceProd", inputs=2):
    """The product."""

    today = today.ReduceProd


class ReduceMax(Reducing, type="ReduceMax", inputs=2):
    """The maximum."""

    today = today.ReduceMax

    def fault_of_then(self, layer: Layer) -> str:
        return (
            "is the largest value; the engine of 2020 returned 1.2e-38 on CPUs where all values "
            "are negative"
        )


class ReduceMin(Reducing, type="ReduceMin", inputs=2):
    """The minimum."""

    today = today.ReduceMin


class ReduceL1(Reducing, type="ReduceL1", inputs=2):
    """The sum of absolute values."""

    today = today.ReduceL1


class ReduceL2(Reducing, type="ReduceL2", inputs=2):
    """The square root of the sum of squares."""

    today = today.ReduceL2


class ReduceSumSquare(Reducing, type="ReduceSumSquare", inputs=2):
    """The sum of squares."""

    def reduced(self, s: Steps, x: Value, axes: list[int]) -> Value:
        return super().reduced(s, s.multiply(x, x), axes)


class ReduceLogSum(Reducing, type="ReduceLogSum", inputs=2):
    """The logarithm of the sum."""

    def reduced(self, s: Steps, x: Value, axes: list[int]) -> Value:
        return s(elementwise.Log(), super().reduced(s, x, axes))


class ReduceLogSumExp(Reducing, type="ReduceLogSumExp", inputs=2):
    """The logarithm of the sum of exponentials, without overflow."""

    def reduced(self, s: Steps, x: Value, axes: list[int]) -> Value:
        most = s(today.ReduceMax(keep_dims=True), x, s.i64(axes))
        total = super().reduced(s, s(elementwise.Exp(), s.subtract(x, most)), axes)
        made = s(elementwise.Log(), total)
        return s.add(made, s.shaped(most, s.dims(made)))


class ReduceAnd(Reducing, type="ReduceAnd", inputs=2):
    """1 if no element is 0, else 0."""

    def reduced(self, s: Steps, x: Value, axes: list[int]) -> Value:
        truth = s(comparison.NotEqual(), x, s.number(0.0))
        return s.real(s(today.ReduceLogicalAnd(keep_dims=self.keep), truth, s.i64(axes)))


class ReduceOr(Reducing, type="ReduceOr", inputs=2):
    """1 if an element is not 0, else 0."""

    def reduced(self, s: Steps, x: Value, axes: list[int]) -> Value:
        truth = s(comparison.NotEqual(), x, s.number(0.0))
        return s.real(s(today.ReduceLogicalOr(keep_dims=self.keep), truth, s.i64(axes)))
