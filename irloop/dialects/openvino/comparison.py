"""Comparisons, logical operations, selection and bitwise operations in OpenVINO."""

from __future__ import annotations

import operator
from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import BROADCASTS, OpenVinoOp
from irloop.dialects.openvino.elementwise import Binary
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ElementType, TensorType, ValueType, broadcast_shapes

__all__ = [
    "BitwiseAnd",
    "BitwiseLeftShift",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseRightShift",
    "BitwiseXor",
    "Comparison",
    "Equal",
    "Greater",
    "GreaterEqual",
    "IsFinite",
    "IsInf",
    "IsNaN",
    "Less",
    "LessEqual",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "LogicalXor",
    "NotEqual",
    "Select",
    "Xor",
]


class Comparison(Binary):
    """Base of comparisons, which map two operands of one type to booleans.

    `function` is the name of the kernel.
    """

    operands = "x: T, y: T -> boolean where T: number | boolean"
    elementwise = True

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return self.broadcast(args, ElementType.BOOLEAN)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return self.bound(getattr(kernels.comparison, self.function))


class Equal(Comparison, type="Equal", since=1, inputs=2):
    """True where the operands are equal (Equal-1)."""

    commutative = True
    comparator = operator.eq
    moves_text = True

    function: ClassVar[str] = "equal"


class NotEqual(Comparison, type="NotEqual", since=1, inputs=2):
    """True where the operands differ (NotEqual-1)."""

    commutative = True
    comparator = operator.ne
    moves_text = True

    function: ClassVar[str] = "not_equal"


class Greater(Comparison, type="Greater", since=1, inputs=2):
    """True where the first operand is greater (Greater-1)."""

    comparator = operator.gt

    function: ClassVar[str] = "greater"


class GreaterEqual(Comparison, type="GreaterEqual", since=1, inputs=2):
    """True where the first operand is greater or equal (GreaterEqual-1)."""

    comparator = operator.ge

    function: ClassVar[str] = "greater_equal"


class Less(Comparison, type="Less", since=1, inputs=2):
    """True where the first operand is less (Less-1)."""

    comparator = operator.lt

    function: ClassVar[str] = "less"


class LessEqual(Comparison, type="LessEqual", since=1, inputs=2):
    """True where the first operand is less or equal (LessEqual-1)."""

    comparator = operator.le

    function: ClassVar[str] = "less_equal"


class Logical(Comparison):
    """Base of logical operations, which map two booleans to one."""

    operands = "x: boolean, y: boolean -> boolean"

    def infer(self, args: Arguments) -> list[ValueType]:
        return self.broadcast(args, ElementType.BOOLEAN)


class LogicalAnd(Logical, type="LogicalAnd", since=1, inputs=2):
    """True where both operands are true (LogicalAnd-1)."""

    commutative = True

    function: ClassVar[str] = "logical_and"


class LogicalOr(Logical, type="LogicalOr", since=1, inputs=2):
    """True where at least one operand is true (LogicalOr-1)."""

    commutative = True

    function: ClassVar[str] = "logical_or"


class LogicalXor(Logical, type="LogicalXor", since=1, inputs=2):
    """True where exactly one operand is true (LogicalXor-1)."""

    commutative = True

    function: ClassVar[str] = "logical_xor"


class Xor(Logical, type="Xor", since=1, until=1, inputs=2):
    """LogicalXor under its name in opset1 (Xor-0)."""

    function: ClassVar[str] = "logical_xor"


class LogicalNot(OpenVinoOp, type="LogicalNot", since=1, inputs=1):
    """True where the operand is false (LogicalNot-1).

    By the specification the operand is boolean. OpenVINO takes numbers, too, and returns 1 or 0.
    """

    operands = "data: number | boolean -> number | boolean"
    elementwise = True

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.is_zero


class Select(OpenVinoOp, type="Select", since=1, inputs=3):
    """The second operand where the first is true, else the third (Select-1).

    In the mode numpy all three operands are broadcast together; in the mode pdpd the first two are
    aligned with the third at `auto_broadcast_axis` (0 when absent).
    """

    operands = "condition: boolean, then: T, else: T -> T where T: number | boolean | string"
    cost = "linear"
    moves_text = True

    auto_broadcast: str = attribute(default="numpy", words=BROADCASTS)
    auto_broadcast_axis: int | None = attribute(
        default=None, name="auto_broadcast.auto_broadcast_axis"
    )

    @property
    def is_pdpd(self) -> bool:
        """Return whether operands are aligned as in PaddlePaddle."""
        return self.auto_broadcast.lower() == "pdpd"

    @property
    def pdpd_axis(self) -> int:
        """The axis at which operands are aligned in mode pdpd."""
        return 0 if self.auto_broadcast_axis is None else self.auto_broadcast_axis

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args, 1, 2)
        inference.check_auto_broadcast(args, self.auto_broadcast)
        shapes = [args.shape(position) for position in range(3)]
        dims = shapes[1].dims
        if dims is not None and self.auto_broadcast.lower() in ("none", "explicit"):
            for position in (0, 2):
                inference.require_shape(args, position, dims)
        if self.is_pdpd:
            rank = shapes[2].rank
            shapes[:2] = [
                inference.aligned(args, item, rank, self.pdpd_axis) for item in shapes[:2]
            ]
        shape = broadcast_shapes(shapes)
        if shape is None:
            text = ", ".join(str(item) for item in shapes)
            raise args.error("shapes cannot be broadcast", "dimensions equal or 1", text)
        return [TensorType(element, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if not self.is_pdpd:
            return kernels.comparison.select
        return kernels.comparison.select_pdpd(self.pdpd_axis)


class Check(OpenVinoOp):
    """Base of operations that test each float of a tensor and return booleans."""

    operands = "data: float -> boolean"
    elementwise = True

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(ElementType.BOOLEAN, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.comparison, self.function)
        return function


class IsNaN(Check, type="IsNaN", since=10, inputs=1):
    """True where the operand is NaN (IsNaN-10)."""

    function: ClassVar[str] = "is_nan"


class IsFinite(Check, type="IsFinite", since=10, inputs=1):
    """True where the operand is finite (IsFinite-10)."""

    function: ClassVar[str] = "is_finite"


class IsInf(Check, type="IsInf", since=10, inputs=1):
    """True where the operand is an infinity of a sign that the attributes select (IsInf-10)."""

    detect_negative: bool = True
    detect_positive: bool = True

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.is_inf(
            negative=self.detect_negative, positive=self.detect_positive
        )


class Bitwise(Binary):
    """Base of bitwise operations, which map two integers (or booleans) to one of the same type."""

    operands = "x: T, y: T -> T where T: integer | boolean"
    cost = "linear"

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return self.broadcast(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return self.bound(getattr(kernels.comparison, self.function))


class BitwiseAnd(Bitwise, type="BitwiseAnd", since=13, inputs=2):
    """Bitwise and (BitwiseAnd-13)."""

    function: ClassVar[str] = "bitwise_and"


class BitwiseOr(Bitwise, type="BitwiseOr", since=13, inputs=2):
    """Bitwise or (BitwiseOr-13)."""

    function: ClassVar[str] = "bitwise_or"


class BitwiseXor(Bitwise, type="BitwiseXor", since=13, inputs=2):
    """Bitwise exclusive or (BitwiseXor-13)."""

    function: ClassVar[str] = "bitwise_xor"


class BitwiseLeftShift(Bitwise, type="BitwiseLeftShift", since=15, inputs=2):
    """The first operand shifted left by the second (BitwiseLeftShift-15)."""

    function: ClassVar[str] = "shift_left"


class BitwiseRightShift(Bitwise, type="BitwiseRightShift", since=15, inputs=2):
    """The first operand shifted right by the second (BitwiseRightShift-15)."""

    function: ClassVar[str] = "shift_right"


class BitwiseNot(OpenVinoOp, type="BitwiseNot", since=13, inputs=1):
    """Bitwise not; inverts booleans (BitwiseNot-13)."""

    operands = "data: integer | boolean -> integer | boolean"
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.bitwise_not
