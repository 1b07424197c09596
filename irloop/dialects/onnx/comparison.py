"""Comparisons, logical operations, selection and bitwise operations in ONNX."""

from __future__ import annotations

import operator
from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, TensorType, ValueType, broadcast_shapes

__all__ = [
    "And",
    "BitShift",
    "Bitwise",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Comparison",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Logical",
    "Not",
    "NumberComparison",
    "Or",
    "Where",
    "Xor",
]


class Comparison(OnnxOp):
    """Base of comparisons, which map two operands of one type to booleans.

    `function` is the name of the kernel.
    """

    elementwise = True

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.broadcast(args, ElementType.BOOLEAN)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.comparison, self.function)
        return function


class NumberComparison(Comparison):
    """Base of comparisons of numbers."""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return super().infer(args)


class Logical(Comparison):
    """Base of logical operations, which map two booleans to one."""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.boolean(args)
        return super().infer(args)


class Equal(Comparison, type="Equal", since=7, inputs=2):
    """True where the operands are equal (Equal-7, 11, 13, 19)."""

    commutative = True
    comparator = operator.eq
    moves_text = True

    function: ClassVar[str] = "equal"


class Greater(NumberComparison, type="Greater", since=7, inputs=2):
    """True where the first operand is greater (Greater-7, 9, 13)."""

    comparator = operator.gt

    function: ClassVar[str] = "greater"


class GreaterOrEqual(NumberComparison, type="GreaterOrEqual", since=12, inputs=2):
    """True where the first operand is greater or equal (GreaterOrEqual-12, 16)."""

    comparator = operator.ge

    function: ClassVar[str] = "greater_equal"


class Less(NumberComparison, type="Less", since=7, inputs=2):
    """True where the first operand is less (Less-7, 9, 13)."""

    comparator = operator.lt

    function: ClassVar[str] = "less"


class LessOrEqual(NumberComparison, type="LessOrEqual", since=12, inputs=2):
    """True where the first operand is less or equal (LessOrEqual-12, 16)."""

    comparator = operator.le

    function: ClassVar[str] = "less_equal"


class And(Logical, type="And", since=7, inputs=2):
    """True where both operands are true (And-7)."""

    commutative = True

    function: ClassVar[str] = "logical_and"


class Or(Logical, type="Or", since=7, inputs=2):
    """True where at least one operand is true (Or-7)."""

    commutative = True

    function: ClassVar[str] = "logical_or"


class Xor(Logical, type="Xor", since=7, inputs=2):
    """True where exactly one operand is true (Xor-7)."""

    commutative = True

    function: ClassVar[str] = "logical_xor"


class Not(OnnxOp, type="Not", since=1, inputs=1):
    """True where the operand is false (Not-1)."""

    elementwise = True

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.boolean(args)
        return [TensorType(ElementType.BOOLEAN, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.logical_not


class Where(OnnxOp, type="Where", since=9, inputs=3):
    """The second operand where the first is true, else the third (Where-9, 16)."""

    cost = "linear"
    moves_text = True

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.boolean(args, 0)
        element = inference.same_element(args, 1, 2)
        shapes = [args.shape(position) for position in range(3)]
        shape = broadcast_shapes(shapes)
        if shape is None:
            text = ", ".join(str(item) for item in shapes)
            raise args.error("shapes cannot be broadcast", "dimensions equal or 1", text)
        return [TensorType(element, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.select


class IsNaN(OnnxOp, type="IsNaN", since=9, inputs=1):
    """True where the operand is NaN (IsNaN-9, 13, 20)."""

    elementwise = True

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return [TensorType(ElementType.BOOLEAN, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.is_nan


class IsInf(OnnxOp, type="IsInf", since=10, inputs=1):
    """True where the operand is an infinity of a sign that the attributes select (IsInf-10, 20)."""

    elementwise = True

    detect_negative: bool = True
    detect_positive: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return [TensorType(ElementType.BOOLEAN, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.is_inf(
            negative=self.detect_negative, positive=self.detect_positive
        )


class Bitwise(OnnxOp):
    """Base of bitwise operations, which map two integers to one of the same type.

    The operands broadcast as in NumPy.
    """

    cost = "linear"

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        for position in range(len(args)):
            element = args.element(position)
            if not element.is_integer and element is not ElementType.DYNAMIC:
                expected = "an integer type"
                raise args.error(f"operand {position} is not an integer", expected, str(element))
        return inference.broadcast(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.comparison, self.function)
        return function


class BitShift(Bitwise, type="BitShift", since=11, inputs=2):
    """The first operand shifted LEFT or RIGHT by the second (BitShift-11, 28)."""

    direction: str

    @property
    def is_left(self) -> bool:
        """Return whether this is a left shift."""
        return self.direction == "LEFT"

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.direction not in ("LEFT", "RIGHT"):
            raise args.error(
                "direction is not known", "LEFT or RIGHT", self.direction, kind="range"
            )
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.comparison.shift_left if self.is_left else kernels.comparison.shift_right


class BitwiseAnd(Bitwise, type="BitwiseAnd", since=18, inputs=2):
    """Bitwise and (BitwiseAnd-18)."""

    function: ClassVar[str] = "bitwise_and"


class BitwiseOr(Bitwise, type="BitwiseOr", since=18, inputs=2):
    """Bitwise or (BitwiseOr-18)."""

    function: ClassVar[str] = "bitwise_or"


class BitwiseXor(Bitwise, type="BitwiseXor", since=18, inputs=2):
    """Bitwise exclusive or (BitwiseXor-18)."""

    function: ClassVar[str] = "bitwise_xor"


class BitwiseNot(Bitwise, type="BitwiseNot", since=18, inputs=1):
    """Bitwise not (BitwiseNot-18)."""

    function: ClassVar[str] = "bitwise_not"
